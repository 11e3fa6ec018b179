import type { Schemas } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { EXIT, Failure } from '../failure.ts'
import { sayJson } from '../output.ts'
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
