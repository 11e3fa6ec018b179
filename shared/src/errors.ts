/**
 * Every error a caller can get: the one table from stable code to HTTP status and title.
 * `docs/errors.md` is generated from it.
 */
export const errors = {
  malformed_json: { status: 400, title: 'The body is not well-formed JSON' },
  malformed_body: { status: 400, title: 'The body could not be read' },
  malformed_request: { status: 400, title: 'The request is not well-formed HTTP' },
  invalid_path: { status: 400, title: 'The path is not in canonical form' },
  invalid_id: { status: 400, title: 'The id in the path is not valid' },
  unauthenticated: { status: 401, title: 'A valid bearer token is required' },
  invalid_credentials: { status: 401, title: 'The user name or the password is wrong' },
  invalid_refresh_token: { status: 401, title: 'The refresh token is not valid any more' },
  invalid_invitation: { status: 401, title: 'The invitation is not valid any more' },
  password_required: { status: 403, title: 'A recent login or the password is required' },
  forbidden: { status: 403, title: 'The role does not allow this' },
  not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  body_timeout: { status: 408, title: 'The body did not arrive in time' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  email_taken: { status: 409, title: 'The email is already registered' },
  name_taken: { status: 409, title: 'The name is already taken' },
  last_admin: { status: 409, title: 'The workspace would be left without an admin' },
  still_referenced: { status: 409, title: 'Other documents still refer to this one' },
  idempotency_in_flight: { status: 409, title: 'The first request with this key is still in flight' },
  precondition_failed: { status: 412, title: 'The document is not in the state that was asked for' },
  not_replayable: { status: 409, title: 'The message can not be run again as it stands' },
  body_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The media type is not supported' },
  validation_failed: { status: 422, title: 'The request breaks its schema' },
  too_deep: { status: 422, title: 'The body is nested too deeply' },
  too_many_members: { status: 422, title: 'The body has too many members and items' },
  idempotency_key_reused: { status: 422, title: 'The key was already used with another body' },
  rate_limited: { status: 429, title: 'Too many requests' },
  headers_too_large: { status: 431, title: 'The header fields are too large' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
  bad_gateway: { status: 502, title: 'The service behind the gateway answered badly' },
  unavailable: { status: 503, title: 'A part of the system is not available right now' },
  upstream_timeout: { status: 504, title: 'The service behind the gateway did not answer in time' },
} as const satisfies Record<string, { status: number; title: string }>

export type ErrorCode = keyof typeof errors

/** The page of all error codes, as Markdown. */
export function renderErrorsPage(): string {
  const rows = Object.entries(errors)
    .toSorted(([a, left], [b, right]) => left.status - right.status || a.localeCompare(b))
    .map(([code, { status, title }]) => `| ${status} | \`${code}\` | ${title} |`)
  return `# Errors

Every error is an RFC 9457 problem (\`application/problem+json\`) with \`type\`, \`title\`, \`status\`, \`detail\`,
\`instance\`, \`code\` and \`requestId\`; a request that breaks its schema also has \`errors\`, a list of
\`{path, code, message}\` with JSON Pointers (into the body, or to a parameter or header: \`/limit\`), 100 at most (\`errorsTotal\` says how many there are beyond that). 401 comes with \`WWW-Authenticate\`, 405 with \`Allow\`; 429, 502, 503 and
504 with \`Retry-After\`, in seconds. Decide by \`code\`: it never changes, the texts may.

| status | code | meaning |
| --- | --- | --- |
${rows.join('\n')}
`
}
