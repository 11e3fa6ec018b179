// Checks that what is a provider's own stands in its folder alone: `npm run check` runs this.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The providers' own folders, and the simulator of one. */
const OWN = /^(?:shared\/src\/providers|deploy\/local\/src\/simulator)\//
const TESTS = /(?:^|\/)tests?\//

/** Names of Meta's that nobody else has, its words, and its error codes. */
const WORDS = [
  /whats_?app/gi,
  /phone_?number_?id/gi,
  /wamid|biz_opaque|graph\.facebook/gi,
  /\bMeta(?![a-z])|(?<=[a-z])Meta(?![a-z])/g,
  // Not `import.meta`, zod's `.meta(`, HTML's `<meta` and the key of that name.
  /(?<![.<\w])meta(?![a-z]|Key)/g,
  /\b(?:80007|130429|1310(?!72)\d\d|1320\d\d|133004)\b/g,
]

/** What the contract names so, by file and exact text. */
const EXCEPTED: readonly { file: string; text: string }[] = [
  ...[
    'gateway/src/routes.ts',
    'services/webhook/src/app.ts',
    'services/webhook/src/native/receive.ts',
    'services/webhook/src/openapi.ts',
    'shared/client/src/parley.ts',
    'deploy/local/src/demo/gateway-client.ts',
    'docs/permission-operations.ts',
  ].map((file) => ({ file, text: '/api/hooks/whatsapp' })),
  { file: 'services/webhook/src/openapi.ts', text: "hook: 'whatsapp'" },
]

/** Files that are to have none, and still do. */
const PENDING: readonly string[] = [
  'deploy/cli/src/commands/doctor.ts',
  'deploy/cli/src/commands/why.ts',
  'deploy/cli/src/explain-message.ts',
  'deploy/cli/src/find-message.ts',
  'deploy/cli/src/whatsapp-account.ts',
  'deploy/local/src/demo/assistant/clinic.ts',
  'deploy/local/src/demo/assistant/run-assistant-demo.ts',
  'deploy/local/src/demo/run-demo.ts',
  'deploy/local/src/demo/simulator-client.ts',
  'deploy/local/src/demo/watch-simulator.ts',
  'deploy/local/src/terminal/ready-text.ts',
  'deploy/local/src/try/seed.ts',
  'deploy/local/src/try/shop.ts',
  'docs/cli-session.ts',
  'gateway/console/src/pages/bubbles.tsx',
  'gateway/console/src/pages/channel-hook.tsx',
  'gateway/console/src/pages/channel-secrets.tsx',
  'gateway/console/src/pages/channel-wizard.tsx',
  'gateway/console/src/pages/channels.tsx',
  'gateway/console/src/pages/message.tsx',
  'gateway/console/src/pages/messages.tsx',
  'gateway/console/src/pages/reply-box.tsx',
  'gateway/console/src/threads.ts',
]

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:m?ts|tsx|mjs)$/.test(file) && !OWN.test(file) && !TESTS.test(file))
const found = new Map(files.map((file) => [file, findingsIn(file)]))
const findings = [
  ...files.filter((file) => !PENDING.includes(file)).flatMap((file) => found.get(file) ?? []),
  ...PENDING.filter((file) => (found.get(file) ?? []).length === 0).map(
    (file) => `${file}: has none any more, so it is to be taken out of the list`,
  ),
  ...EXCEPTED.filter(({ file, text }) => !readFileSync(file, 'utf8').includes(text)).map(
    ({ file, text }) => `${file}: does not have ${text} any more, so it is to be taken out of the list`,
  ),
]
for (const finding of findings) console.error(finding)
console.log(
  `${files.length} files outside the providers' folders, ${findings.length} provider words, ${PENDING.length} files pending`,
)
if (findings.length > 0 || files.length === 0) process.exitCode = 1

/** The file's path counts as a line of it. */
function findingsIn(file: string): string[] {
  const excepted = EXCEPTED.filter((one) => one.file === file)
  const text = excepted.reduce((rest, one) => rest.replaceAll(one.text, ''), readFileSync(file, 'utf8'))
  return [file, ...text.split('\n')].flatMap((line, at) =>
    WORDS.flatMap((word) =>
      [...line.matchAll(word)].map(([match]) => `${file}:${at}: ${match} is a provider's`),
    ),
  )
}
