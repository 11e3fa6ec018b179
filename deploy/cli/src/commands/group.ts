import type { Command } from 'commander'
import { integer } from '../arguments.ts'
import { askAtTerminal } from '../ask-at-terminal.ts'
import { EXIT, Failure } from '../failure.ts'
import { printable, say, sayJson } from '../output.ts'
import { readJsonFile } from '../read-json-file.ts'

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 100_000
const PAGE = 200

/** Options that every command of a group takes. */
interface Common {
  json?: true
}

/** Adds commands that belong together: `parley campaigns list`. */
export function addGroup(program: Command, name: string, description: string): Command {
  return program.command(name).description(description)
}

/** Adds `list`: as many as are asked for, over all pages, each in a line that `lineOf` makes. */
export function addList<T, Options extends object = object>(
  group: Command,
  {
    about,
    options = [],
    all,
    lineOf,
  }: {
    about: string
    options?: readonly [flags: string, description: string][]
    all(given: Options, limit: number): AsyncIterable<T>
    lineOf(item: T): readonly (string | undefined)[]
  },
): void {
  const command = group.command('list').description(about)
  for (const [flags, description] of options) command.option(flags, description)
  command
    .option('--limit <count>', 'at most so many', integer({ least: 1, most: MAX_LIMIT }), DEFAULT_LIMIT)
    .action(async (given: Options & Common & { limit: number }) => {
      let left = given.limit
      for await (const item of all(given, Math.min(left, PAGE))) {
        if (given.json) sayJson(item)
        else say(lineText(lineOf(item)))
        if (--left === 0) return
      }
    })
}

const lineText = (columns: readonly (string | undefined)[]): string =>
  columns
    .filter((column) => column !== undefined)
    .map(printable)
    .join('  ')

/** Adds a command on one thing, which shows what comes of it as JSON. */
export function addOne(
  group: Command,
  { name, about, run }: { name: string; about: string; run(id: string): Promise<unknown> },
): void {
  group
    .command(name)
    .argument('<id>', 'its id')
    .description(about)
    .action(async (id: string, { json }: Common) => show(await run(id), json))
}

/** Adds `apply`, which sends a file: what `show --json` writes may be changed and sent back. */
export function addApply(
  group: Command,
  { about, run }: { about: string; run(body: object, id: string | undefined): Promise<unknown> },
): void {
  group
    .command('apply')
    .argument('<file>', 'JSON, or - for standard input')
    .argument('[id]', 'of which; left out for a new one')
    .description(about)
    .action(async (file: string, id: string | undefined, { json }: Common) =>
      show(await run(await readBody(file), id), json),
    )
}

/** Adds `delete`, which asks first. */
export function addDelete(
  group: Command,
  { about, what, run }: { about: string; what: string; run(id: string): Promise<unknown> },
): void {
  group
    .command('delete')
    .argument('<id>', 'its id')
    .description(about)
    .option('--yes', 'do not ask')
    .action(async (id: string, { yes, json }: Common & { yes?: true }) => {
      if (!yes) await confirm(`${what} ${printable(id)}?`)
      const done = await run(id)
      if (json) sayJson(done)
      else say(`Deleted ${printable(id)}.`)
    })
}

function show(value: unknown, json: true | undefined): void {
  if (json) sayJson(value)
  else say(JSON.stringify(value, null, 2))
}

/** Throws a Failure for what is no JSON object, too. */
async function readBody(file: string): Promise<object> {
  const body = await readJsonFile(file)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  throw new Failure(`${file} is no JSON object.`, EXIT.usage)
}

async function confirm(question: string): Promise<void> {
  if (!process.stdin.isTTY) throw new Failure('There is no terminal to ask at: add --yes.', EXIT.usage)
  const reply = (await askAtTerminal(`${question} [y/N] `)) ?? ''
  if (!/^y(es)?$/i.test(reply.trim())) throw new Failure('Nothing was done.', EXIT.usage)
}
