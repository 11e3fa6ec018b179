import { isReplayFutile } from '@parley/shared/explain-message'
import { isProviderId, providerOfSource } from '@parley/shared/providers/registry'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Button, Dialog, notify } from '../components/actions.tsx'
import { Empty, Failure, PageHead, State, Time } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { anyOf, count, localTime } from '../format.ts'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { causeInWords, type MessageSummary, REPLAYABLE, STATES, waitInWords } from '../messages.ts'
import { channelNames } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate, type PageProps, setQuery } from '../router.ts'
import { reasonOf, wordOf } from '../words.ts'
import { MessagePage } from './message.tsx'

interface Filter {
  state?: string
  channel?: string
  thread?: string
  phone?: string
  providerId?: string
  requestId?: string
  fault?: string
  from?: string
  to?: string
}

const COLUMNS: Column<MessageSummary>[] = [
  { name: t('Received'), cell: ({ receivedAt }) => <Time at={receivedAt} /> },
  { name: t('State'), cell: ({ state }) => <State of={state} /> },
  { name: t('Direction'), wide: true, cell: ({ source }) => (providerOfSource(source) ? t('in') : t('out')) },
  { name: t('Channel'), wide: true, cell: ({ channel }) => channel },
  { name: t('Person'), cell: (message) => <PersonOf message={message} /> },
  {
    name: t('Reason'),
    wide: true,
    cell: ({ reason, waitingFor, fault }) => (
      <span class="quiet">
        {reason ? reasonOf(reason) : waitingFor ? t('waits {wait}', { wait: waitInWords(waitingFor) }) : ''}
        {causeInWords(fault) && ` · ${t('caused by {cause}', { cause: causeInWords(fault) })}`}
      </span>
    ),
  },
  { name: t('Changed'), wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
]

/** By their number or another address, as the list has it; the thread where it says something else. */
function PersonOf({ message: { thread, phone, addresses } }: { message: MessageSummary }) {
  const address = phone === undefined ? addresses?.[0]?.replace(/^[^:]*:/, '') : `+${phone}`
  const isNamed = address?.replace('+', '') === thread.replace('+', '')
  return (
    <span class="cut">
      {address ?? thread}
      {address !== undefined && !isNamed && <span class="quiet"> · {thread}</span>}
    </span>
  )
}

/** Parameters that one may search by; the typed text decides which of them is meant. */
const SEARCHES = ['thread', 'phone', 'providerId', 'requestId'] as const
const PHONE = /^\+[\d ().-]{5,30}$/
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

/** The log of all messages, or one of them. */
export const MessagesPage = byPath('/messages', {
  '': Log,
  ':id': ({ rest: [id = ''] }) => <MessagePage id={decodeURIComponent(id)} />,
})

function Log({ query }: PageProps) {
  const filter: Filter = {}
  for (const name of [...SEARCHES, 'state', 'channel', 'fault', 'from', 'to'] as const) {
    const value = query.get(name)
    if (value) filter[name] = value
  }
  const list = useList<MessageSummary>(
    '/rest/messages',
    { ...filter },
    {
      everyMs: 3_000,
      live: ({ event, data }) =>
        (event === 'message' || event === 'state') &&
        (filter.thread === undefined || filter.thread === data.thread) &&
        (filter.channel === undefined || filter.channel === data.channel),
    },
  )
  const [replaying, setReplaying] = useState(false)
  const isReplayable =
    filter.state !== undefined && REPLAYABLE.includes(filter.state) && !isReplayFutile(filter)
  const isFiltered = Object.keys(filter).length > 0
  return (
    <>
      <PageHead title={t('Messages')}>
        {isReplayable && may('write', 'messages') && (
          <Button onClick={() => setReplaying(true)}>{t('Replay these…')}</Button>
        )}
      </PageHead>
      <Filters filter={filter} />
      <Table
        {...{ label: t('Messages'), columns: COLUMNS, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/messages/${_id}`)}
        empty={
          isFiltered ? (
            <Empty title={t('No messages match')}>
              <Button small onClick={() => navigate('/messages')}>
                {t('Show all')}
              </Button>
            </Empty>
          ) : (
            <Empty title={t('No messages yet')}>
              {may('write', 'channels') ? (
                <a href={hrefOf('/channels/new')}>{t('Connect a channel')}</a>
              ) : (
                t('They appear here as they come in.')
              )}
            </Empty>
          )
        }
      />
      <More list={list} />
      {replaying && <ReplayDialog filter={filter} onClose={() => setReplaying(false)} onDone={list.reload} />}
    </>
  )
}

const TYPING_MS = 350

function Filters({ filter }: { filter: Filter }) {
  const { data: channels } = useLoad('channel names', channelNames)
  const [text, setText] = useState(SEARCHES.map((name) => filter[name]).find(Boolean) ?? '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const search = (value: string) => {
    setText(value)
    clearTimeout(timer.current)
    const typed = value.trim()
    timer.current = setTimeout(() => void searchFor(typed), TYPING_MS)
  }
  const known = channels ?? []
  const all = filter.channel && !known.includes(filter.channel) ? [filter.channel, ...known] : known
  return (
    <search class="filters">
      <div data-search>
        <TextField
          label={t('Thread, +phone, or id')}
          type="search"
          placeholder={t('Search')}
          value={text}
          onChange={search}
        />
      </div>
      <MoreFilters isOpen={['state', 'channel', 'fault', 'from', 'to'].some((name) => name in filter)}>
        <SelectField
          label={t('State')}
          value={filter.state ?? ''}
          options={stateOptions(filter.state)}
          onChange={(state) => setQuery({ state })}
        />
        <SelectField
          label={t('Channel')}
          value={filter.channel ?? ''}
          options={[
            { value: '', name: t('Any') },
            ...all.map((channel) => ({ value: channel, name: channel })),
          ]}
          onChange={(channel) => setQuery({ channel })}
        />
        <SelectField
          label={t('Caused by')}
          value={filter.fault ?? ''}
          options={[{ value: '', name: t('Anybody') }, ...CULPRITS]}
          onChange={(fault) => setQuery({ fault })}
        />
        {(['from', 'to'] as const).map((name) => (
          <TextField
            key={name}
            label={name === 'from' ? t('Received from') : t('Until')}
            type="datetime-local"
            value={localTime(filter[name])}
            onChange={(value) => setQuery({ [name]: value === '' ? '' : new Date(value).toISOString() })}
          />
        ))}
      </MoreFilters>
    </search>
  )
}

/** Folded away where the screen is narrow and none of them is set. */
function MoreFilters({ isOpen, children }: { isOpen: boolean; children: ComponentChildren }) {
  const [isNarrow] = useState(() => matchMedia('(width < 56rem)').matches)
  return (
    <details class="more-filters" open={isOpen || !isNarrow}>
      <summary>{t('Filters')}</summary>
      <div class="filters">{children}</div>
    </details>
  )
}

/** An id leads to its message; else what was typed becomes the filter that fits it. */
async function searchFor(typed: string): Promise<void> {
  const none = Object.fromEntries(SEARCHES.map((name) => [name, undefined]))
  if (UUID.test(typed)) {
    const found = await call('GET', `/rest/messages/${typed}`).catch(() => undefined)
    return found === undefined ? setQuery({ ...none, requestId: typed }) : navigate(`/messages/${typed}`)
  }
  const by = isProviderId(typed) ? 'providerId' : PHONE.test(typed) ? 'phone' : 'thread'
  setQuery({ ...none, [by]: typed })
}

const CULPRITS = ['caller', 'channel', 'provider', 'recipient', 'us'].map((value) => ({
  value,
  name: causeInWords(value),
}))

const MOST_COUNTED = 2_000
const MOST_REPLAYED = 10_000

/** Counts what the filter picks before it is run again. */
function ReplayDialog({ filter, onClose, onDone }: { filter: Filter; onClose(): void; onDone(): void }) {
  const { data, error } = useLoad(JSON.stringify(filter), () => countOf(filter))
  const replay = async () => {
    const body = { ...filter, limit: MOST_REPLAYED }
    const { replayed, more } = await call<{ replayed: number; more: boolean }>(
      'POST',
      '/rest/messages/replay',
      { body },
    )
    notify(
      [
        t('{count} run again.', { count: count(replayed) }),
        more ? t('There are more: replay once more.') : '',
      ]
        .join(' ')
        .trim(),
    )
    onDone()
    onClose()
  }
  return (
    <Dialog title={t('Replay messages')} onClose={onClose}>
      <Failure error={error} />
      {data === undefined && !error && <p role="status">{t('Counting …')}</p>}
      {data !== undefined && (
        <p>
          {data.more
            ? rich('<b>More than {count}</b> messages match the filter. {each}', matching(data.found))
            : rich('<b>{count}</b> messages match the filter. {each}', matching(data.found))}
        </p>
      )}
      <div class="actions end">
        <Button onClick={onClose}>{t('Cancel')}</Button>
        <Button kind="primary" disabled={!data?.found} onClick={replay}>
          {t('Replay')}
        </Button>
      </div>
    </Dialog>
  )
}

const matching = (found: number) => ({
  b: (text: ComponentChildren) => <strong>{text}</strong>,
  count: count(found),
  each: t('Each is handled and sent as if it had just come in.'),
})

async function countOf(filter: Filter): Promise<{ found: number; more: boolean }> {
  let found = 0
  let after: string | undefined
  do {
    const query = { ...filter, limit: 200, after }
    const page = await call<Page<MessageSummary>>('GET', '/rest/messages', { query })
    found += page.data.length
    after = page.next ?? undefined
  } while (after !== undefined && found < MOST_COUNTED)
  return { found, more: after !== undefined }
}

/** A link may ask for several states, which nobody chooses here. */
function stateOptions(state = ''): { value: string; name: string }[] {
  const several = state.includes(',') ? [{ value: state, name: anyOf(state.split(',').map(wordOf)) }] : []
  return [
    { value: '', name: t('Any') },
    ...several,
    ...STATES.map((name) => ({ value: name as string, name: wordOf(name) })),
  ]
}
