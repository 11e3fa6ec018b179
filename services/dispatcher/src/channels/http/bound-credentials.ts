const MAX_NAMED = 5

/** The origins that a secret was stored for, and goes to alone; undefined where it goes wherever its address leads. */
export type BoundOrigins = readonly string[] | undefined

/** Why a secret is not sent to `url`; undefined where it may be. `what` names it, and its config or field. */
export function reasonToWithhold(what: string, origins: BoundOrigins, url: string): string | undefined {
  const origin = URL.canParse(url) ? new URL(url).origin : url
  if (origins === undefined || origins.includes(origin)) return undefined
  const known =
    origins.length === 0 ? 'where no address was known' : `for ${origins.slice(0, MAX_NAMED).join(', ')}`
  return `${what} was stored ${known}, so it is not sent to ${origin}. Store it again if it is to go there.`
}
