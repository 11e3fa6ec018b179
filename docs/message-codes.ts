import { REPAIRS } from '@parley/shared/explain-message'

/** The part of `docs/errors.md` on messages that were answered with 200 and did not arrive. */
export function renderMessageCodes(): string {
  const rows = Object.entries(REPAIRS)
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([code, advice]) => `| \`${code}\` | ${advice} |`)
  return `
## A message that did not arrive

What becomes of a message after the 200 is no error of a request: it ends \`dead\`, \`failed\` or \`unrouted\`, with a \`reason\`, a \`fault\`
(\`caller\`, \`channel\`, \`provider\`, \`recipient\`, \`us\`), and a \`code\` in its attempts: the provider's own, or one of ours, such as

| code | what to do |
| --- | --- |
${rows.join('\n')}

Those of templates are in [templates](templates.md#a-message-of-one). \`parley why\` and the console explain a message whole.
`
}
