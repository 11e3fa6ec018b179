/**
 * What makes a user name unique: compatibility forms and case are folded, dots and `+tags` count.
 * Upper case comes first because it unites what lower case alone keeps apart (`ß` and `ss`, `ς` and `σ`).
 */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC')
}
