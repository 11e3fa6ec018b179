// Checks that identifiers and file names use standard words only: `npm run check` runs this.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { parse } from '@swc/core'

/** The folders whose names are standard. Paths of the command line are checked in their place. */
const CLEAN = [
  ...['deploy', 'docs', 'gateway', 'services', 'shared'],
  ...'bench clusters configuration dispatch dispatcher docs e2e faults fuzz intake openapi rolling security skew source'
    .split(' ')
    .map((folder) => `tests/${folder}`),
]
/** Words of our own that stood for a standard one, and what to write instead. */
const WORDS = new Map<string, string>([
  ...entries('instance, or replica of data', 'copy copies copied'),
  ...entries('unavailable', 'away'),
  ...entries('route, method or how', 'way ways'),
  ...entries('queue or slot', 'lane lanes'),
  ...entries('concurrent or with', 'beside'),
  ...entries('leased, pending, locked or owned', 'hold holds holder holders held'),
  ...entries('on demand', 'lazily'),
  ...entries('event, change or status', 'news'),
  ...entries('retained, cached, stored or remaining', 'keep keeps keeping keeper kept'),
  ...entries('notify, report or reported', 'tell tells telling told'),
  ...entries('requested, expected or required', 'want wants wanted wish wishes wished'),
  ...entries('rate limiter or rate', 'governor governors governed pace paced pacer'),
  ...entries('sequence or arrival number', 'order orders'),
  ...entries('refuse, deny, dead-letter or fail', 'reject rejects rejected rejection rejections'),
  ...entries('reconciliation', 'conservation conserved'),
  ...entries('responsibility or lease', 'duty duties'),
  ...entries('deadline, timeout or inside', 'within'),
  ...entries('received messages', 'arrivals'),
  ...entries('error, finding or failure', 'fault faults'),
  ...entries('response', 'answer answers answered answering'),
])
/** Names of two words that are private although each word is standard. */
const PHRASES = new Map([['in turn', 'sequential']])

/** Names that were not ours to choose. They are whole identifiers, everywhere or `in` some paths. */
const EXCEPTED: readonly { names: string; reason: string; in?: RegExp }[] = [
  {
    names:
      'keepAlive shouldKeepAlive keepAliveTimeout keepAliveMaxTimeout keepAliveTimeoutThreshold KEEP_ALIVE_MS',
    reason: "Node's and undici's names for HTTP keep-alive",
  },
  { names: 'reject', reason: 'the second argument of a Promise executor, and how a Promise fails' },
  { names: 'rejects', reason: "Jest's matcher for a Promise that fails" },
  { names: 'rejectUnauthorized', reason: "Node's TLS option" },
  { names: 'withCopyContentToContainer', reason: "Testcontainers' method" },
  {
    names: 'order lane rejected',
    reason:
      "the dispatcher's stored names: a sequence number, the id of a message that others pass, a collection",
    in: /^(services\/dispatcher|tests\/(dispatch|intake))\//,
  },
  {
    names: 'fault Fault _fault FAULTS',
    reason: "the API's field, which is stored: who caused that a message was given up",
    in: /^((services\/dispatcher|shared\/(src|test)\/providers|tests\/(dispatch|e2e)|deploy\/cli)\/|shared\/(src|test)\/explain-message)/,
  },
  {
    names: 'Answer hasAnswer storeAnswer',
    reason: "the `answer` of a message, which is the API's name",
    in: /^services\/dispatcher\//,
  },
  {
    names: 'bad_answer',
    reason: "a code of the dispatcher's attempts",
    in: /^shared\/src\/explain-message/,
  },
  { names: 'answerReactions', reason: "a setting of a channel's `config`" },
  { names: 'keepSocketAlive', reason: "a method of Node's HTTP agent" },
  { names: 'MESSAGES_KEPT_DAYS COPIES GOVERNED', reason: 'names in the environment' },
  { names: 'threadsOutOfOrder', reason: 'out of order is the standard term' },
  { names: 'dropAnswers dropAnswerEvery', reason: "fields of the simulator's API" },
  { names: 'rejected', reason: "a count of the API's reconciliation", in: /gateway-client\.ts$/ },
  {
    names: 'answer',
    reason: "the API's field",
    in: /^((services\/(campaigns|dispatcher|webhook)|shared|tests|deploy\/(local|cli)|docs\/openapi)\/|docs\/cli-session\.ts$)/,
  },
  {
    names: 'order order_details order_status copy_code',
    reason: "kinds of Meta's messages, and of what templates take",
    in: /^shared\/src\/providers\/whatsapp\//,
  },
  { names: 'order', reason: 'a stored field', in: /^tests\/bench\/(events|seed-messages)\.ts$/ },
  {
    names: 'answer fault turns Turns',
    reason: "the API's fields of a message",
    in: /^(gateway\/console|services\/campaigns)\//,
  },
  {
    names: 'fault',
    reason: "the API's field of a message",
    in: /^(deploy\/local\/(src|test)\/terminal\/|tests\/bench\/seed-messages\.ts$)/,
  },
  {
    names: 'order orderNo ORDER_LINE orderNumber ordersAction orderChannel readOrder',
    reason: 'what a customer of the shop ordered',
    in: /^(?:deploy\/local\/src\/(?:try\/|simulator\/shop-routes)|shared\/src\/sample-shop|gateway\/console\/src\/sample\/)/,
  },
  {
    names: 'kept',
    reason: "a count of the API's answer to a provider",
    in: /^(services\/webhook|deploy\/local|tests\/(openapi|fuzz))\//,
  },
  { names: 'keepApiTokens', reason: "the API's field" },
  { names: 'noDeleteOnFetchRejection', reason: "lru-cache's option" },
  { names: 'rejectIfRedisNotReady', reason: "rate-limiter-flexible's option" },
  { names: 'PromiseRejectedResult', reason: "TypeScript's type" },
]
/** A fault is what tests inject into a system, in the literature as here. */
const INJECTION_TESTS = /^tests\/faults\//

/** The whole of a string that is the name of a metric. */
const METRIC = /^parley_[a-z_]+$/

interface Name {
  file: string
  name: string
}

const folders = process.argv.length > 2 ? process.argv.slice(2) : CLEAN
const files = execFileSync('git', ['ls-files', ...folders], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.m?[jt]sx?$/.test(file))
const names = (await Promise.all(files.map(namesIn))).flat()
const findings = names.flatMap(({ file, name }) => {
  const advice = isExcepted(file, name) ? undefined : adviceOn(name)
  return advice === undefined ? [] : [`${file}: ${name}: write ${advice}`]
})
for (const finding of findings) console.error(finding)
console.log(`${names.length} names in ${files.length} files, ${findings.length} with private words`)
if (findings.length > 0 || names.length === 0) process.exitCode = 1

function entries(advice: string, words: string): [string, string][] {
  return words.split(' ').map((word) => [word, advice])
}

/** The name of the file, and each name that it contains once. Of strings only the names of metrics count, and no comments. */
async function namesIn(file: string): Promise<Name[]> {
  const tree = await parse(readFileSync(file, 'utf8'), {
    syntax: 'typescript',
    tsx: file.endsWith('.tsx'),
    target: 'es2024',
  })
  const names = new Set([basename(file)])
  visit(tree, (node) => {
    if (node.type === 'Identifier' || node.type === 'PrivateName') names.add(String(node.value))
    if (node.type === 'StringLiteral' && METRIC.test(String(node.value))) names.add(String(node.value))
  })
  return [...names].map((name) => ({ file, name }))
}

function visit(node: unknown, each: (node: Record<string, unknown>) => void): void {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) each(node as Record<string, unknown>)
  for (const inner of Object.values(node)) visit(inner, each)
}

function isExcepted(file: string, name: string): boolean {
  if (INJECTION_TESTS.test(file) && wordsOf(name).some((word) => /^faults?$/.test(word))) return true
  return EXCEPTED.some((one) => one.names.split(' ').includes(name) && one.in?.test(file) !== false)
}

/** Returns the advice for the first private word of a name: the words to write instead. */
function adviceOn(name: string): string | undefined {
  const words = wordsOf(name)
  const phrase = [...PHRASES].find(([phrase]) => ` ${words.join(' ')} `.includes(` ${phrase} `))
  return phrase?.[1] ?? words.map((word) => WORDS.get(word)).find((advice) => advice !== undefined)
}

/** The words of a name in camelCase, kebab-case or CONSTANT_CASE, in small letters. */
function wordsOf(name: string): string[] {
  const words = name.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+/g) ?? []
  return words.map((word) => word.toLowerCase())
}
