// Lists variables that can make a started program load other code, run another program, trust other servers or send its
// data elsewhere. Such a list is never complete. Therefore a program may be in `TOLLGATE_TOOL_COMMANDS` only if the
// operator trusts its code, whatever other variables it receives.

const groups = {
  'the loader and the C library':
    'LD_* DYLD_* GCONV_PATH GETCONF_DIR GLIBC_TUNABLES HOSTALIASES LOCALDOMAIN LOCPATH MALLOC_* NLSPATH RES_OPTIONS RESOLV_* TZDIR',
  shells: 'BASH* CDPATH COMSPEC ENV FPATH IFS PATH PATHEXT PROMPT_COMMAND PS1 PS2 PS3 PS4 SHELL* ZDOTDIR',
  'where a program finds its files':
    'APPDATA HOME LOCALAPPDATA LOGNAME SYSTEMROOT TEMP TERM TERMCAP TERMINFO* TMP TMPDIR USER USERNAME USERPROFILE WINDIR XDG_*',
  'programs that others start': 'BROWSER EDITOR GIT_* LESS LESSCLOSE LESSOPEN MANPAGER PAGER SSH_* SUDO_* VISUAL',
  'JavaScript and its packages': 'BUN_* COREPACK_* DENO_* ELECTRON_* NODE_* NPM_* NVM_* PNPM_* VOLTA_* YARN_*',
  'Python and its packages': 'CONDA_* PIP_* PIPX_* PYTHON* UV_* VIRTUAL_ENV',
  'other languages':
    'BUNDLE_* CARGO_* CLASSPATH COR_* CORECLR_* DOTNET_* ELIXIR_* ERL_* GEM_* GO111MODULE GODEBUG GOENV GOFLAGS GOPATH GOPROXY GOROOT GUILE_* JAVA_* JDK_* JULIA_* JVM_* LUA_* MAVEN_* MONO_* NUGET_* PERL* PHP* RUBY* RUSTC_* RUSTFLAGS RUSTUP_* R_* TCLLIBPATH TCL_*',
  'trust and routing of connections': '*_PROXY CURL_* DOCKER_* KUBECONFIG OPENSSL_* REQUESTS_CA_BUNDLE SSLKEYLOGFILE SSL_* WGETRC',
};

const forms = Object.values(groups)
  .flatMap((names) => names.split(' '))
  .map((name) => name.replace('*', '.*'));
const steering = new RegExp(`^(?:${forms.join('|')})$`);

/** Returns whether the variable is in this list. `name` must be in capital letters. */
export const isSteering = (name: string): boolean => steering.test(name);
