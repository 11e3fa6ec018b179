import { TIMES, type Times, times } from '@parley/dispatcher/times'

/** The page of the times that the services of the tests have shorter, as Markdown. */
export function renderTimesPage(): string {
  const rows = Object.entries(TIMES).map(
    ([name, value]) => `| \`${name}\` | ${value} | ${times[name as keyof Times].description} |`,
  )
  return `# Times of the dispatcher

They are not configured: an operator meets them in logs and delays. Tests start the dispatcher with shorter ones
(\`deploy/local/src/testing/test-times.ts\`). \`npm run docs\` writes this page from \`services/dispatcher/src/times.ts\`.

| time | ms | what it is |
| --- | --- | --- |
${rows.join('\n')}
`
}
