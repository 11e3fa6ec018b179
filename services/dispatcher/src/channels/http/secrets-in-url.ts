/** What of a URL must not be shown: user information, and the values in its query. */
export function secretsInUrl(text: string): string[] {
  if (!URL.canParse(text)) return []
  const { username, password, searchParams } = new URL(text)
  const given = [...searchParams].map(([name, value]) => (value === '' ? name : value))
  return [username, password, ...given].filter((one) => one !== '')
}
