import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob } from 'node:fs'
import type { Parley, Schemas } from '@parley/client'
import { importPeople, type PeopleImport } from '@parley/client/import-people'
import { succeeded } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { EXIT, Failure } from '../failure.ts'
import { printable, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'
import { addApply, addDelete, addGroup, addList, addOne } from './group.ts'

const at = (id: string) => ({ params: { path: { id } } })
const api = () => connect().api

/** `parley people`: who is written to, by `_id` or an address such as `phone:5511988887777`. */
export function addPeople(program: Command): void {
  const group = addGroup(program, 'people', 'who is written to, by id or address (phone:5511988887777)')
  addList<Schemas['Person'], { tag?: string }>(group, {
    about: 'list them',
    options: [['--tag <tag>', 'that have this tag']],
    all: ({ tag }, limit) => connect().list('/rest/people', { limit, ...(tag !== undefined && { tag }) }),
    lineOf: ({ _id, name, addresses, consent }) => [
      ...[_id, consent.marketing.status.padEnd(9), name ?? '-', addresses.join(', ')],
    ],
  })
  addOne(group, {
    name: 'show',
    about: 'what is known of one',
    run: (id) => succeeded(api().GET('/rest/people/{id}', at(id))),
  })
  addApply(group, {
    about: 'add what is known of somebody, or change one',
    run: (body, id) =>
      id === undefined
        ? succeeded(api().POST('/rest/people', { body: body as Schemas['NewPerson'] }))
        : succeeded(api().PATCH('/rest/people/{id}', { ...at(id), body: body as Schemas['PersonPatch'] })),
  })
  addOne(group, {
    name: 'consent',
    about: 'what one said of being written to, the newest first',
    run: (id) => succeeded(api().GET('/rest/people/{id}/consent', at(id))),
  })
  addExportPerson(group)
  addImportPeople(group)
  addDelete(group, {
    about: 'erase one in every service, for good',
    what: 'Erase for good',
    run: (id) => succeeded(api().DELETE('/rest/people/{id}', at(id))),
  })
}

function addExportPerson(group: Command): void {
  group
    .command('export')
    .argument('<id>', 'of whom')
    .description('write all that is stored of one, a page of it on each line of JSON')
    .action(async (id: string) => {
      for (let after: string | undefined; ; ) {
        const query = after === undefined ? {} : { after }
        const page = await succeeded(
          api().GET('/rest/people/{id}/export', { params: { path: { id }, query } }),
        )
        sayJson(page)
        if (page.next === null) return
        if (page.next === after) throw new Failure('The same page came twice.', EXIT.bug)
        after = page.next
      }
    })
}

/** A part of a file may take so long. */
const PART_MS = 120_000

interface ImportOptions {
  tag?: string
  ignoreColumns?: true
  key?: string
  json?: true
}

function addImportPeople(group: Command): void {
  group
    .command('import')
    .argument('<file>', 'CSV with a header, or NDJSON (.ndjson, .jsonl)')
    .description('add and change people by a file; repeated, it goes on where it broke off')
    .option('--tag <tags>', 'for all who are in it, separated by commas')
    .option('--ignore-columns', 'pass over columns that nobody knows')
    .option('--key <key>', 'another name for the file than follows from its content')
    .action(async (file: string, { tag, ignoreColumns, key, json }: ImportOptions) => {
      const { blob, digest } = await openFile(file)
      const client = connect({ timeoutMs: PART_MS })
      const contentType = /\.(?:ndjson|jsonl)$/i.test(file) ? 'application/x-ndjson' : 'text/csv'
      let found: PeopleImport | undefined
      for await (const one of importPeople(client, blob, {
        ...{ contentType, tag, ignoreColumns },
        key: key ?? digest,
      })) {
        found = one
        if (process.stderr.isTTY) process.stderr.write(`\r${one.counts.rows} rows`)
      }
      if (process.stderr.isTTY) process.stderr.write('\n')
      if (found !== undefined) await showImport(client, found, json)
    })
}

async function openFile(file: string): Promise<{ blob: Blob; digest: string }> {
  try {
    const hash = createHash('sha256')
    for await (const part of createReadStream(file)) hash.update(part as Buffer)
    return { blob: await openAsBlob(file), digest: hash.digest('hex') }
  } catch (error) {
    throw new Failure(`${file} can not be read (${(error as NodeJS.ErrnoException).code}).`, EXIT.notFound)
  }
}

/** Prints the outcome of an import, with the rows that were refused. */
async function showImport(client: Parley, found: PeopleImport, json: true | undefined): Promise<void> {
  const { _id, state, counts } = found
  const errors: Schemas['ImportError'][] = []
  for (let after: string | undefined; counts.refused > 0; ) {
    const query = { limit: 200, ...(after !== undefined && { after }) }
    const path = { id: _id }
    const page = await succeeded(
      client.api.GET('/rest/people/imports/{id}/errors', { params: { path, query } }),
    )
    errors.push(...page.data)
    if (page.next === null) break
    after = page.next
  }
  if (counts.refused > 0) process.exitCode = EXIT.findings
  if (json) return sayJson({ ...found, errors })
  for (const { line, path, message } of errors) say(printable(`line ${line}  ${path || '/'}  ${message}`))
  const { rows, created, updated, repeated, refused } = counts
  say(
    `${state}: ${rows} rows, ${created} added, ${updated} changed, ${repeated} repeated, ${refused} refused.`,
  )
}

/** `parley segments`: people by what is known of them. */
export function addSegments(program: Command): void {
  const group = addGroup(program, 'segments', 'people by what is known of them')
  addList<Schemas['Segment']>(group, {
    about: 'list them by name',
    all: async function* () {
      yield* (await succeeded(api().GET('/rest/segments'))).data
    },
    lineOf: ({ _id, name }) => [_id.padEnd(20), name],
  })
  addOne(group, {
    name: 'show',
    about: 'whom one has, with how many they are',
    async run(id) {
      const segment = await succeeded(api().GET('/rest/segments/{id}', at(id)))
      const { filter } = segment
      const { count } = await succeeded(api().POST('/rest/segments/count', { body: { filter } }))
      return { ...segment, count }
    },
  })
  addApply(group, {
    about: 'save one under an id',
    run(body, id) {
      if (id === undefined) throw new Failure('Say under which id: parley segments apply FILE ID', EXIT.usage)
      const { name, filter } = body as Schemas['SegmentBody']
      return succeeded(api().PUT('/rest/segments/{id}', { ...at(id), body: { name, filter } }))
    },
  })
  addOne(group, {
    name: 'history',
    about: 'who changed what of one, the latest first',
    run: (id) => succeeded(api().GET('/rest/segments/{id}/history', at(id))),
  })
  addDelete(group, {
    about: 'delete one; its people stay',
    what: 'Delete segment',
    run: (id) => succeeded(api().DELETE('/rest/segments/{id}', at(id))),
  })
}
