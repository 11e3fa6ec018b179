import type { Schemas } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { printable, say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'
import { addApply, addDelete, addGroup, addList, addOne } from './group.ts'

const at = (id: string) => ({ params: { path: { id } } })
const api = () => connect().api

/** `parley templates`: those of the providers' accounts. */
export function addTemplates(program: Command): void {
  const group = addGroup(
    program,
    'templates',
    'what a business may write at any time, as its provider has it',
  )
  addList<Schemas['Template'], { name?: string; status?: string }>(group, {
    about: 'list them by name and language',
    options: [
      ['--name <name>', 'of this name'],
      ['--status <status>', 'that have this status, such as APPROVED'],
    ],
    all: ({ name, status }, limit) =>
      connect().list('/rest/templates', {
        limit,
        ...(name !== undefined && { name }),
        ...(status !== undefined && { status }),
      }),
    lineOf: ({ _id, status, category, language, name }) => [
      ...[_id.padEnd(16), status.padEnd(9), category.padEnd(14), language.padEnd(5), name],
    ],
  })
  addOne(group, {
    name: 'show',
    about: 'what one is',
    run: (id) => succeeded(api().GET('/rest/templates/{id}', at(id))),
  })
  addApply(group, {
    about: 'make one at the provider, or change one: it is reviewed there',
    run(body, id) {
      if (id === undefined)
        return succeeded(api().POST('/rest/templates', { body: body as Schemas['NewTemplate'] }))
      const { category, components } = body as Schemas['ChangedTemplate']
      const change = { components, ...(category !== undefined && { category }) }
      return succeeded(api().PUT('/rest/templates/{id}', { ...at(id), body: change }))
    },
  })
  group
    .command('sync')
    .description('ask the providers for theirs now')
    .action(async ({ json }: { json?: true }) => {
      const { accounts } = await succeeded(api().POST('/rest/templates/sync'))
      if (json) return sayJson({ accounts })
      for (const { account, error, syncedAt } of accounts)
        say(`${printable(account)}  ${error === undefined ? `synchronised ${syncedAt}` : printable(error)}`)
    })
  addOne(group, {
    name: 'history',
    about: 'what happened to one, the latest first',
    run: (id) => succeeded(api().GET('/rest/templates/{id}/history', at(id))),
  })
  addDelete(group, {
    about: 'delete one, at its provider as well',
    what: 'Delete template',
    run: (id) => succeeded(api().DELETE('/rest/templates/{id}', at(id))),
  })
}
