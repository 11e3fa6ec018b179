/**
 * Every error a caller can get: the one table from stable code to HTTP status, title and what to do. `docs/errors.md`
 * and the pages that problems name as their `type` are made from it.
 */
export const errors = {
  malformed_json: {
    status: 400,
    title: 'The body is not well-formed JSON',
    help: '`detail` names line and column of the first place that is not JSON. Comments, trailing commas and single quotes are no JSON.',
  },
  malformed_body: {
    status: 400,
    title: 'The body could not be read',
    help: 'The body ended early, or is not compressed as `Content-Encoding` says. Send it again.',
  },
  malformed_request: {
    status: 400,
    title: 'The request is not well-formed HTTP',
    help: 'Two readers could read the request in two ways: it has two `Authorization` headers, or a transfer coding other than `chunked`. Mostly a proxy in between adds something.',
  },
  invalid_path: {
    status: 400,
    title: 'The path is not in canonical form',
    help: 'Write the path plainly: no `//`, no `..`, no backslash and none of `%2e`, `%2f`, `%5c`, `%00`.',
  },
  invalid_id: {
    status: 400,
    title: 'The id in the path is not valid',
    help: 'An id is an integer from 0 to 9007199254740991 without leading zeros. Only configs also have keys.',
  },
  unauthenticated: {
    status: 401,
    title: 'A valid bearer token is required',
    help: 'Send `Authorization: Bearer <token>`. `detail` says whether the token is missing, malformed, expired or revoked. An access token lasts 15 minutes: get the next one from `POST /api/auth/refresh`, or log in.',
  },
  invalid_credentials: {
    status: 401,
    title: 'The user name or the password is wrong',
    help: 'Which of the two is wrong is not said. Each wrong try makes the next response slower.',
  },
  invalid_refresh_token: {
    status: 401,
    title: 'The refresh token is not valid any more',
    help: 'It was used before, its session was ended, or it is too old. Log in again. Where somebody else may have used it, all sessions of its family are ended.',
  },
  invalid_invitation: {
    status: 401,
    title: 'The invitation is not valid any more',
    help: 'It was accepted, withdrawn, or is too old; or whoever made it was removed, has a new password, may not invite for this role any more, or made it with an API token that has ended. Ask for another one.',
  },
  invalid_password_link: {
    status: 401,
    title: 'The link for a new password is not valid any more',
    help: 'It was used, is too old, or there is a newer one; or the password was changed since. One that was made by somebody also ends when they are removed, have a new password, may not manage the user any more, or made it with an API token that has ended. Ask for another one.',
  },
  password_required: {
    status: 403,
    title: 'A recent login or the password is required',
    help: 'What is asked for needs a login of the last minutes, or the password in the body.',
  },
  forbidden: {
    status: 403,
    title: 'The role does not allow this',
    help: 'The caller is known, but the role lets it not do this. `POST /rest/roles/{id}/explain` says which entry of the role decides. Nobody can grant what they do not have.',
  },
  reference_forbidden: {
    status: 403,
    title: 'The role may not read what the document refers to',
    help: 'A field that the request adds or changes names a document that the role does not let the caller read, or, as the owner of a config, not write; `errors` says where. The answer is the same where there is no such document. References that were there before may stay. `docs/permissions.md` says what each right gives by way of references.',
  },
  not_found: {
    status: 404,
    title: 'There is nothing here',
    help: 'Nothing is at this path, or the role may not read it. Where the path itself is unknown, `detail` names the nearest one.',
  },
  method_not_allowed: {
    status: 405,
    title: 'The method is not allowed here',
    help: 'The header `Allow` lists the methods that the path takes.',
  },
  body_timeout: {
    status: 408,
    title: 'The body did not arrive in time',
    help: 'At least 1 KiB has to arrive every few seconds. Send it again on a faster connection, or in smaller parts.',
  },
  request_timeout: {
    status: 408,
    title: 'The request took too long to arrive',
    help: 'The head of a request has to arrive in one piece, in a few seconds.',
  },
  email_taken: {
    status: 409,
    title: 'The email is already registered',
    help: 'Log in with that email, or register another one. Case is ignored.',
  },
  name_taken: {
    status: 409,
    title: 'The name is already taken',
    help: 'Choose another name.',
  },
  address_taken: {
    status: 409,
    title: 'Another person has this address',
    help: 'Each address is one person’s. `POST /rest/people` with an address of each joins them into one.',
  },
  last_admin: {
    status: 409,
    title: 'The workspace would be left without an admin',
    help: 'Give another user the role WORKSPACE_ADMIN first.',
  },
  still_referenced: {
    status: 409,
    title: 'Other documents still refer to this one',
    help: '`referrers` lists them. Change those first, or add `?force=true`, which leaves references that dangle.',
  },
  too_many_tokens: {
    status: 409,
    title: 'The workspace has as many API tokens as it may have',
    help: 'A workspace may have 100 API tokens that are neither revoked nor expired. End one that is not used: `GET /api/auth/tokens` says when each was used last.',
  },
  several_channels: {
    status: 409,
    title: 'Several channels have a thread of this external id',
    help: 'Add `?channel=`, or name the thread by its `_id`.',
  },
  idempotency_in_flight: {
    status: 409,
    title: 'The first request with this key is still in flight',
    help: 'Repeat it after `Retry-After`: the response is then that of the first request.',
  },
  precondition_failed: {
    status: 412,
    title: 'The document is not in the state that was asked for',
    help: 'Somebody changed the document since it was read, or it exists already. Read it again, and send the new `ETag` in `If-Match`.',
  },
  not_replayable: {
    status: 409,
    title: 'The message can not be run again as it stands',
    help: 'Only messages that are dead, failed or unrouted run again.',
  },
  campaign_state: {
    status: 409,
    title: 'The campaign’s state does not allow it',
    help: '`detail` names its state, and what is in the way. `docs/campaigns.md` has the table of transitions.',
  },
  not_scheduled: {
    status: 409,
    title: 'The message does not wait for its time',
    help: 'Only a message with a `sendAt` that has not come yet is taken back; this one has left, or never had one.',
  },
  subscription_inactive: {
    status: 409,
    title: 'The subscription is turned off',
    help: 'Turn it on first: `PATCH /rest/subscriptions/{id}` with `{"active": true}`. What happened before is not sent then.',
  },
  no_consent: {
    status: 409,
    title: 'There is no consent to use the server',
    help: "It can't be asked for as the credentials of the action stand, was not given, or took too long: `detail` says which. Begin again with `POST /rest/actions/{id}/connect`.",
  },
  body_too_large: {
    status: 413,
    title: 'The body is too large',
    help: 'A message may have 1 MiB and 16 MiB of audio, another body under `/rest` 4 MiB, one under `/api/auth` 64 KiB.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'The media type is not supported',
    help: 'Send `Content-Type: application/json` in UTF-8; PATCH also takes `application/merge-patch+json`.',
  },
  validation_failed: {
    status: 422,
    title: 'The request breaks its schema',
    help: '`errors` lists every mistake: `path` is a JSON Pointer into the body, or names a parameter or header.',
  },
  refused_by_provider: {
    status: 422,
    title: 'The provider refuses it',
    help: '`detail` is what the provider says, `providerCode` its code. What it says of a channel’s token or settings is for whoever set up the channel.',
  },
  too_deep: {
    status: 422,
    title: 'The body is nested too deeply',
    help: 'Objects and arrays may nest 32 levels.',
  },
  too_many_members: {
    status: 422,
    title: 'The body has too many members and items',
    help: 'The body has more members, objects and arrays together, or more items, than `detail` names. Send it in parts.',
  },
  idempotency_key_reused: {
    status: 422,
    title: 'The key was already used with another body',
    help: 'A key belongs to one body. Use a new key for another message.',
  },
  budget_spent: {
    status: 429,
    title: 'The tokens of the day are spent',
    help: '`detail` names the bound that was met: `MODEL_TOKENS_PER_DAY` of the deployment. It counts anew each day (UTC); an assistant with a config `model` and a key of its own is not bounded by it.',
  },
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    help: 'Wait as long as `Retry-After` says. `RateLimit-Policy` names the limit that was met, `RateLimit` what is left of it.',
  },
  too_many_streams: {
    status: 429,
    title: 'Too many event streams are open',
    help: 'A token may have 20 event streams open at a gateway; where a gateway has as many as it takes, its workspace has its share of them. Close one, or follow `/rest/events` in place of many threads.',
  },
  headers_too_large: {
    status: 431,
    title: 'The header fields are too large',
    help: 'All header fields together may have 16 KiB.',
  },
  internal_error: {
    status: 500,
    title: 'Something went wrong on our side',
    help: 'It is logged with the request id: report that. Repeating the request may work.',
  },
  bad_gateway: {
    status: 502,
    title: 'The service behind the gateway answered badly',
    help: 'The request may have happened or not: repeat it under the same `Idempotency-Key`, or read what became of it.',
  },
  unavailable: {
    status: 503,
    title: 'A part of the system is not available right now',
    help: 'Nothing is wrong with the request. Repeat it after `Retry-After`, under the same `Idempotency-Key` where it has one.',
  },
  upstream_timeout: {
    status: 504,
    title: 'The service behind the gateway did not answer in time',
    help: 'The request may have happened or not: repeat it under the same `Idempotency-Key`, or read what became of it.',
  },
} as const satisfies Record<string, { status: number; title: string; help: string }>

export type ErrorCode = keyof typeof errors

/** The `type` of a problem: where the gateway explains its code, relative to the address that was called. */
export const problemType = (code: ErrorCode): string => `/docs/errors/${code}`

/** The page of all error codes, as Markdown. */
export function renderErrorsPage(): string {
  const rows = Object.entries(errors)
    .toSorted(([a, left], [b, right]) => left.status - right.status || a.localeCompare(b))
    .map(([code, { status, title, help }]) => `| ${status} | \`${code}\` | ${title} | ${help} |`)
  return `# Errors

Every error is an RFC 9457 problem (\`application/problem+json\`) with \`type\`, \`title\`, \`status\`, \`detail\`,
\`instance\`, \`code\` and \`requestId\`; a request that breaks its schema also has \`errors\`, 100 at most
(\`errorsTotal\` counts all), each \`{path, code, message}\` with a JSON Pointer into the body or to a parameter or header (\`/limit\`). 429, 502,
503 and 504 come with \`Retry-After\`, in seconds. Decide by \`code\`: it never changes, the texts may, and are in Brazilian Portuguese or
Spanish where \`Accept-Language\` prefers it. \`type\` is the address of a page that explains the code (\`/docs/errors/not_found\`).

| status | code | meaning | what to do |
| --- | --- | --- | --- |
${rows.join('\n')}
`
}
