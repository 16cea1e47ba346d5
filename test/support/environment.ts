// The environment of a program that a test starts: that of the test's own process, without our variables, which the
// test sets itself.
export const environment = (own: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_'))),
  ...own,
});
