import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { Schemas } from '@parley/client'
import { succeeded } from '@parley/client/parley-error'
import type { Command } from 'commander'
import { EXIT, Failure, unwritable } from '../failure.ts'
import { say, sayJson } from '../output.ts'
import { connect } from '../profile.ts'
import { addApply, addDelete, addGroup, addList, addOne } from './group.ts'

const at = (id: string) => ({ params: { path: { id } } })
const api = () => connect().api

/** The commands for one campaign: name, description and the call that each makes. */
const ACTIONS = [
  ['show', 'what one is', (id: string) => succeeded(api().GET('/rest/campaigns/{id}', at(id)))],
  [
    'results',
    'what became of one: everybody is counted once',
    (id: string) => succeeded(api().GET('/rest/campaigns/{id}/results', at(id))),
  ],
  [
    'history',
    'who changed what of one, the latest first',
    (id: string) => succeeded(api().GET('/rest/campaigns/{id}/history', at(id))),
  ],
  [
    'estimate',
    'how many one would write to, how long that takes and what it costs',
    (id: string) => succeeded(api().POST('/rest/campaigns/{id}/estimate', at(id))),
  ],
  [
    'schedule',
    'have a draft begin at its time',
    (id: string) => succeeded(api().POST('/rest/campaigns/{id}/schedule', at(id))),
  ],
  [
    'unschedule',
    'make one that has not begun a draft again',
    (id: string) => succeeded(api().POST('/rest/campaigns/{id}/unschedule', at(id))),
  ],
  [
    'pause',
    'send nothing more for now',
    (id: string) => succeeded(api().POST('/rest/campaigns/{id}/pause', at(id))),
  ],
  [
    'resume',
    'go on where one was paused',
    (id: string) => succeeded(api().POST('/rest/campaigns/{id}/resume', at(id))),
  ],
  [
    'cancel',
    'send nothing more, for good',
    (id: string) => succeeded(api().POST('/rest/campaigns/{id}/cancel', at(id))),
  ],
] as const

/** `parley campaigns`: drafts, starts and stops campaigns, and says what became of them. */
export function addCampaigns(program: Command): void {
  const group = addGroup(program, 'campaigns', 'one template to many people, and what became of it')
  addList<Schemas['Campaign'], { state?: Schemas['CampaignStatus'] }>(group, {
    about: 'list them, the newest first',
    options: [['--state <state>', 'in this state']],
    all: ({ state }, limit) =>
      connect().list('/rest/campaigns', { limit, ...(state !== undefined && { state }) }),
    lineOf: ({ _id, state, name, paused }) => [_id, state.padEnd(9), name, paused?.reason],
  })
  addApply(group, {
    about: 'draft one, or change one',
    run: (body, id) =>
      id === undefined
        ? succeeded(api().POST('/rest/campaigns', { body: body as Schemas['NewCampaign'] }))
        : succeeded(
            api().PATCH('/rest/campaigns/{id}', { ...at(id), body: body as Schemas['CampaignPatch'] }),
          ),
  })
  for (const [name, about, run] of ACTIONS) addOne(group, { name, about, run })
  addExportRecipients(group)
  addDelete(group, {
    about: 'delete a draft, or one that is over, with its results',
    what: 'Delete campaign',
    run: (id) => succeeded(api().DELETE('/rest/campaigns/{id}', at(id))),
  })
}

function addExportRecipients(group: Command): void {
  group
    .command('export')
    .argument('<id>', 'its id')
    .argument('[file]', 'where to; standard output when left out')
    .description('write what became of everybody, a line of JSON each')
    .action(async (id: string, file: string | undefined, { json }: { json?: true }) => {
      const asked = { ...at(id), parseAs: 'stream' as const }
      const body = (await succeeded(api().GET('/rest/campaigns/{id}/export', asked))) as unknown
      const lines = Readable.fromWeb(body as ReadableStream)
      let end = ''
      lines.on('data', (chunk: Uint8Array) => {
        end = (end + Buffer.from(chunk).toString('latin1')).slice(-64)
      })
      if (file === undefined) {
        lines.pipe(process.stdout, { end: false })
        await once(lines, 'end')
      } else
        await pipeline(lines, createWriteStream(file)).catch((error) => {
          throw unwritable(file, error)
        })
      if (!end.includes('"end":true')) throw new Failure('It broke off: try again.', EXIT.unavailable)
      if (file === undefined) return
      if (json) sayJson({ file })
      else say(`Written to ${file}.`)
    })
}
