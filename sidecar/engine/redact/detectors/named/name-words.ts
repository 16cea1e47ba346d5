// Lists the words of names whose values are secrets. A name is read from its end: `spring.mail.password`,
// `DB_PASS_PROD` and `newPassword2` are passwords; `password_min_length` and `token_type` are not.

const words = (text: string): readonly string[] =>
  text
    .trim()
    .split(/\s*[,\n]\s*/)
    .filter((word) => word !== '');

/** Words that name a password. A name of several words is listed here without a separator. */
export const passwordHeads: readonly string[] = words(`
  password, passwd, passwrd, passwort, passphrase, passcode, pass, pwd, pw, psw, pswd, pword, userpass, dbpass, smtppass, rootpass,
  kennwort, passord, lösenord, losenord, adgangskode, wachtwoord, paswoord, senha, contraseña, contrasena, contrasenya, motdepasse,
  mdp, parola, parole, hasło, haslo, heslo, jelszó, jelszo, şifre, sifre, şifresi, şifreniz, şifrem, parolanız, psk, passwords,
  salasana, geslo, lozinka, zaporka, parool, slaptažodis, sandi, katasandi, matkhau, пароль, пароля, паролем, лозинка, парола, κωδικός,
  συνθηματικό, סיסמה, סיסמא`);

/**
 * Phrases that name a password: of several words, or in scripts without blanks between words. They are also found at
 * the end of a longer name.
 */
export const passwordPhrases: readonly string[] = words(`
  mot de passe, mot_de_passe, mot-de-passe, kata sandi, kata_sandi, clave de acceso, clave_acceso, clave personal, mật khẩu, palabra de paso, palavra-passe, palavra passe, codice di accesso, pass phrase, pass word, 密码, 密碼,
  口令, パスワード, 暗証番号, 비밀번호, 패스워드, 암호, รหัสผ่าน, पासवर्ड, कूटशब्द, পাসওয়ার্ড, كلمة المرور, كلمة السر, كلمة مرور, گذرواژه, رمز عبور,
  κωδικός πρόσβασης`);

/** Words that name a key that a machine generated. */
export const secretHeads: readonly string[] = words(`
  secret, secrets, token, tokens, apikey, authtoken, accesstoken, refreshtoken, apitoken, apisecret, clientsecret, appsecret,
  secretkey, privatekey, masterkey, signingkey, encryptionkey, authkey, credential, credentials, salt, pepper, licensekey, licencekey,
  jwt, bearer, hmac, apppassword, secretaccesskey, appkey, sharedkey, accountkey, geheimnis, geheimschlüssel, schlüssel,
  zugangsschlüssel, apischlüssel, jeton, segredo, secreto, sleutel, токен, секрет, ключ, gizli, klíč, klucz`);

export const secretPhrases: readonly string[] = words(`
  密钥, 密鑰, 秘钥, 秘鑰, 令牌, 金鑰, 授权码, トークン, シークレット, 秘密鍵, apiキー, アクセスキー, 시크릿, 토큰, 비밀키, 비밀 키, api 키, api키, 액세스 키, clé api, clé d'api,
  clé secrète, chave de api, chave api, chave secreta, chave da api, clave de api, clave api, clave secreta, chiave api,
  chiave segreta, api-ключ, ключ api, секретный ключ, مفتاح api, مفتاح الواجهة, رمز الوصول, الرمز السري, टोकन, คีย์ api, khóa api,
  clé_api, cle_api, cle_secrete, clave_api, clave_secreta, chave_api, chave_secreta, chiave_api, 2fa seed, otp seed, mfa seed, otp_seed,
  mfa_seed, 2fa_seed, seed phrase`);

/**
 * Words before `key` that make the whole name the name of a secret. Without one of these words, `key` can be the key of
 * a map, of a table or of a piano.
 */
export const keyOwners = new Set(
  words(`
  api, secret, private, master, signing, sign, signature, encryption, encrypt, decryption, auth, authorization, authentication, app,
  application, shared, account, service, admin, session, security, license, licence, activation, hmac, jwt, webhook, storage,
  subscription, integration, ingest, ingestion, write, read, server, access, deploy, cookie, cipher, aes, data, stream, consumer,
  developer, dev, user, merchant, partner, functions, function, host, instrumentation, tsig, psk, wpa, preshared, wep, root, vault,
  unseal, crypto, hash, hashing, token, bearer, rpc, node, project, wireguard, transfer, client, sdk, monitoring, telemetry, search,
  push, rest, relay, sas, recovery, seal, sealed, passphrase, credential, tls, ssl, wallet, sendgrid, openai, stripe, mailgun, datadog,
  algolia, geheim, oauth, gateway, provider, base, mac`),
);

/**
 * Words before `key` that do not decide it: with such a word, the name denotes something harmless as often as a secret.
 * Then only a long value is a secret.
 */
export const vagueOwners = new Set(
  words(`
  access, app, application, account, service, data, stream, write, read, server, user, project, function, functions, host, node,
  client, session, search, storage, hash, root, dev, transfer, push, wallet, base, gateway, provider, mac, subscription, consumer, tls,
  ssl`),
);

/**
 * Words before `token`, `secret` and similar heads. With such a word the name is harmless: the value is not used to log
 * in.
 */
export const harmlessOwners = new Set(
  words(`
  page, next, prev, previous, continuation, cursor, sync, nextpage, pagination, start, end, stop, pad, padding, eos, bos, unk, sep,
  cls, mask, max, min, total, prompt, completion, special, extra, num, input, output, per, public, publishable, publish, pub, site,
  primary, foreign, partition, sort, cache, object, idempotency, idempotent, row, column, map, dedup, group, routing, translation,
  i18n, index, unique, no, has, is, show, hide, forgot, forgotten, reset, bad, wrong, invalid, missing, require, requires, required,
  expired, expires, with, use, uses, allow, set, get, visible, change, changed, lost, weak, lexer, parser, syntax, first, last,
  current, scroll, skip, resume, watermark, change, delta, concurrency, fencing, design, eof, image, video, audio, reasoning, cached,
  cancellation, cancel`),
);

/** Words after the head that do not change its meaning. They only say which of several secrets it is. */
export const trailers = new Set(
  words(`
  value, text, string, plain, plaintext, cleartext, clear, raw, base, base64, b64, hex, prod, production, dev, staging, stage, stg,
  live, test, testing, sandbox, primary, secondary, main, backup, old, new, current, previous, next, default, confirm, confirmation,
  confirmed, repeat, again, retype, verify, verification, c, eu, us, uk, de, salt, env, override, v1, v2, v3, temp, initial, internal,
  external, global, local, ro, rw, admin, root`),
);
