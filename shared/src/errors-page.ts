import { errors } from './errors.ts'

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
