import { useEffect, useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Badge, Card } from '../components/basics.tsx'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { simulatorUrl } from '../simulator.ts'
import { SampleButton } from './sample.tsx'
import { UseSimulator } from './use-simulator.tsx'

/** The things that a workspace has of each kind, as far as they decide its next step. */
interface Begun {
  assistant: number | undefined
  /** An assistant has said something, be it in a trial. */
  isTried: boolean
  channel: { _id: number; extId: string } | undefined
  hasMessages: boolean
}

/** Returns what the workspace has, for users who may continue; undefined for others, and until it is known. */
export function useBegun(): Begun | undefined {
  const mayGo = may('write', 'channels') && may('write', 'assistant')
  const [isOver, setOver] = useState(!mayGo)
  const load = (signal: AbortSignal) => (mayGo ? begun(signal) : Promise.resolve(undefined))
  const { data } = useLoad(`first steps ${mayGo}`, load, isOver ? {} : { everyMs: 5_000 })
  useEffect(() => setOver(!mayGo || data?.hasMessages === true), [mayGo, data])
  return data
}

/** The way to the first message, in a workspace that has none yet. */
export function FirstSteps({ begun: { assistant, isTried, channel } }: { begun: Begun }) {
  const simulator = simulatorUrl()
  const steps = [
    {
      name: t('Make an assistant'),
      href: '/assistants/new',
      note: t('Who it is, its model, tools and steps. A channel that only sends needs none.'),
      isDone: assistant !== undefined,
    },
    {
      name: t('Try it'),
      href: assistant === undefined ? undefined : `/assistants/${assistant}`,
      note: t('On its page, where what it says reaches nobody. It speaks once its model has a key.'),
      isDone: isTried,
    },
    {
      name: t('Connect a channel'),
      href: '/channels/new',
      note:
        simulator === undefined
          ? t('A number of yours, with what its provider says of it.')
          : t('A number of yours, or the simulator, which reaches nobody.'),
      isDone: channel !== undefined,
      more: simulator !== undefined && channel === undefined && <UseSimulator />,
    },
    {
      name: t('Send a first message'),
      href: channel === undefined ? undefined : `/channels/${channel._id}/connect`,
      note: t('To your own phone, or to any number of the simulator.'),
      isDone: false,
    },
  ]
  return (
    <Card
      title={t('First steps')}
      note={t('This workspace has no messages yet')}
      action={simulator !== undefined && <SampleButton url={simulator} />}
    >
      <ol class="rows">
        {steps.map(({ name, href, note, isDone, more }, at) => (
          <li key={name}>
            <span class="round" aria-hidden="true">
              {at + 1}
            </span>
            <div class="grow">
              <p class="line">
                {href === undefined ? <strong>{name}</strong> : <a href={hrefOf(href)}>{name}</a>}
                {isDone && <Badge tone="good">{t('done')}</Badge>}
              </p>
              <p class="note">{note}</p>
            </div>
            {more}
          </li>
        ))}
      </ol>
    </Card>
  )
}

async function begun(signal: AbortSignal): Promise<Begun> {
  const first = async <T,>(path: string): Promise<T | undefined> =>
    (await call<Page<T>>('GET', path, { query: { limit: 1 }, signal })).data[0]
  const message = await first('/rest/messages')
  if (message !== undefined)
    return { assistant: undefined, isTried: true, channel: undefined, hasMessages: true }
  const [assistant, channel, isTried] = await Promise.all([
    first<{ _id: number }>('/rest/assistant'),
    first<NonNullable<Begun['channel']>>('/rest/channels'),
    hasSpoken(signal),
  ])
  return { assistant: assistant?._id, isTried, channel, hasMessages: false }
}

/** Trials count as use of a model. */
async function hasSpoken(signal: AbortSignal): Promise<boolean> {
  if (!may('read', 'usage')) return false
  const query = { by: 'assistant' }
  const { data } = await call<{ data: { turns: number }[] }>('GET', '/rest/usage', { query, signal })
  return data.some(({ turns }) => turns > 0)
}
