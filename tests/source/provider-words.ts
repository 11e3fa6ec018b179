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

/** Provider words that the contract itself contains, by file and exact text. */
const EXCEPTED: readonly { file: string; text: string }[] = [
  { file: 'shared/src/message.ts', text: "'/api/hooks/whatsapp'" },
  // The types of the client are those of the OpenAPI document, by path.
  { file: 'shared/client/src/parley.ts', text: "'/api/hooks/whatsapp'" },
]

const files = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:m?ts|tsx|mjs|css)$/.test(file) && !OWN.test(file) && !TESTS.test(file))
const findings = [
  ...files.flatMap(findingsIn),
  ...EXCEPTED.filter(({ file, text }) => !readFileSync(file, 'utf8').includes(text)).map(
    ({ file, text }) => `${file}: does not have ${text} any more, so it is to be taken out of the list`,
  ),
]
for (const finding of findings) console.error(finding)
console.log(`${files.length} files outside the providers' folders, ${findings.length} provider words`)
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
