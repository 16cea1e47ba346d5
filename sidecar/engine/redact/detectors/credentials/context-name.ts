// Recognises those keys of a payload that the detectors of credentials need to see together with the values: headers,
// cookies of sessions, and members of a JSON Web Key.
const header = /^(?:http[_-])?(?:x[_-])?(?:proxy[_-])?authorization$|cookies?$/i;
const cookie =
  /^(?:__host-|__secure-|phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|\.aspxauth|next-auth\.)|[_.-]session(?:[_-]?token)?$/i;
const jwkMember = /^(?:d|p|q|dp|dq|qi|k)$/;

export const isCredentialContext = (name: string): boolean => header.test(name) || cookie.test(name) || jwkMember.test(name);
