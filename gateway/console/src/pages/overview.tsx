import { useMemo, useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import type { PageProps } from '../app.tsx'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading, PageHead, State, Time } from '../components/basics.tsx'
import { Chart } from '../components/chart.tsx'
import { type Finding, hrefOfFinding } from '../findings.ts'
import { count } from '../format.ts'
import { useLoad } from '../load.ts'
import { causeInWords, type MessageSummary, REPLAYABLE, WAITING } from '../messages.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'

type Counts = Record<
  | 'accepted'
  | 'done'
  | 'sent'
  | 'delivered'
  | 'read'
  | 'failed'
  | 'dead'
  | 'unrouted'
  | 'inFlight'
  | 'difference'
  | 'unaudited',
  number
>

interface Totals extends Counts {
  auditedUpTo: string | null
  checkedSecondsAgo: number | null
  channels: (Counts & { channel: string })[]
  hours: (Counts & { hour: string })[]
}

const HOUR_MS = 3_600_000
const RANGES = [
  { name: 'Day', hours: 24 },
  { name: 'Week', hours: 168 },
]
const AT_ONCE = 4

/** How the workspace is: what came in, what became of it, and what needs somebody. */
export function OverviewPage(_props: PageProps) {
  const mayReadMessages = may('read', 'messages')
  return (
    <>
      <PageHead title="Overview" />
      {mayReadMessages ? (
        <Traffic />
      ) : (
        <Empty title="Your role can’t read messages">Ask an admin for a role that can.</Empty>
      )}
      <div class="columns">
        {mayReadMessages && <Attention />}
        <Problems />
      </div>
    </>
  )
}

function Traffic() {
  const [hours, setHours] = useState(24)
  const from = new Date(Math.floor(Date.now() / HOUR_MS - hours + 1) * HOUR_MS).toISOString()
  const { data, error } = useLoad(
    `totals ${from}`,
    (signal) => call<Totals>('GET', '/rest/messages/conservation', { query: { from }, signal }),
    { everyMs: 5_000 },
  )
  if (data === undefined) return <Card>{error ? <Failure error={error} /> : <Loading lines={6} />}</Card>
  if (data.accepted === 0 && hours > 24) return <FirstSteps />
  return (
    <>
      <Tiles totals={data} />
      <Card
        title="Messages an hour"
        action={
          <div class="segments">
            {RANGES.map((range) => (
              <button
                key={range.name}
                type="button"
                aria-pressed={range.hours === hours}
                onClick={() => setHours(range.hours)}
              >
                {range.name}
              </button>
            ))}
          </div>
        }
      >
        {data.accepted === 0 ? (
          <Empty title="No messages in this time">
            {may('write', 'channels') && <a href={hrefOf('/channels/new')}>Connect a channel</a>}
          </Empty>
        ) : (
          <HourChart totals={data} from={from} />
        )}
      </Card>
      <Waiting totals={data} />
    </>
  )
}

const FirstSteps = () => (
  <Card title="Nothing has come in this week">
    <Empty title="Messages appear here as they come in">
      {may('write', 'channels') ? (
        <a href={hrefOf('/channels/new')}>Connect a channel</a>
      ) : (
        'Ask an admin to connect a channel.'
      )}
    </Empty>
  </Card>
)

function Tiles({ totals }: { totals: Totals }) {
  const reached = totals.sent + totals.delivered + totals.read
  const tiles: { name: string; value: number; href?: string; tone?: string; note?: string }[] = [
    { name: 'Accepted', value: totals.accepted, href: '/messages' },
    { name: 'In flight', value: totals.inFlight },
    {
      name: 'Sent',
      value: reached,
      href: '/messages?state=sent',
      note: `${count(totals.delivered + totals.read)} delivered, ${count(totals.read)} read`,
    },
    { name: 'Done without a send', value: totals.done, href: '/messages?state=done' },
    { name: 'Dead', value: totals.dead, href: '/messages?state=dead', tone: totals.dead > 0 ? 'bad' : '' },
    {
      name: 'Failed or unrouted',
      value: totals.failed + totals.unrouted,
      href: `/messages?state=${totals.failed > 0 ? 'failed' : 'unrouted'}`,
      tone: totals.failed + totals.unrouted > 0 ? 'warn' : '',
    },
    {
      name: 'Difference',
      value: totals.difference,
      tone: totals.difference === 0 ? 'good' : 'bad',
      note:
        totals.difference === 0 ? 'every message is accounted for' : 'accepted, but not found in any state',
    },
  ]
  return (
    <ul class="tiles">
      {tiles.map(({ name, value, href, tone, note }) => (
        <li key={name} class={`tile ${tone ?? ''}`}>
          <span class="tile-name">{href ? <a href={hrefOf(href)}>{name}</a> : name}</span>
          <strong>{count(value)}</strong>
          {note && <span class="note">{note}</span>}
        </li>
      ))}
    </ul>
  )
}

function HourChart({ totals, from }: { totals: Totals; from: string }) {
  const changed = JSON.stringify(totals.hours)
  // The same hours are drawn once, though each response is another object.
  const { times, series } = useMemo(() => seriesOf(totals.hours, from), [changed, from])
  return <Chart label="Messages an hour" times={times} series={series} />
}

function seriesOf(hours: Totals['hours'], from: string) {
  const byHour = new Map(hours.map((one) => [new Date(one.hour).getTime(), one]))
  const times: number[] = []
  for (let at = new Date(from).getTime(); at <= Date.now(); at += HOUR_MS) times.push(at)
  const valuesOf = (value: (one: Counts) => number) =>
    times.map((at) => {
      const one = byHour.get(at)
      return one === undefined ? 0 : value(one)
    })
  return {
    times: times.map((at) => at / 1_000),
    series: [
      { name: 'Accepted', color: 'chart-1', values: valuesOf(({ accepted }) => accepted) },
      {
        name: 'Sent or done',
        color: 'chart-2',
        values: valuesOf(({ sent, delivered, read, done }) => sent + delivered + read + done),
      },
      {
        name: 'Dead, failed or unrouted',
        color: 'chart-3',
        values: valuesOf(({ dead, failed, unrouted }) => dead + failed + unrouted),
      },
    ],
  }
}

/** The oldest message that waits, found by the oldest hour that has some in flight. */
function Waiting({ totals }: { totals: Totals }) {
  const hour = totals.hours
    .filter(({ inFlight }) => inFlight > 0)
    .map((one) => one.hour)
    .sort()[0]
  const { data } = useLoad(
    `waiting ${hour}`,
    () => (hour === undefined ? Promise.resolve(undefined) : oldestWaiting(hour)),
    { everyMs: 5_000 },
  )
  if (data === undefined) return null
  return (
    <Card title="Oldest that waits">
      <p class="line">
        <State of={data.state} />
        <a href={hrefOf(`/messages/${data._id}`)}>{data.thread}</a>
        <span>
          in since <Time at={data.receivedAt} relative />
        </span>
        {data.waitingFor && <span>waits for {data.waitingFor.replaceAll('_', ' ')}</span>}
        {data.due && (
          <span>
            tried again <Time at={data.due} relative />
          </span>
        )}
        {data.reason && <span class="quiet">{data.reason}</span>}
      </p>
    </Card>
  )
}

async function oldestWaiting(hour: string): Promise<MessageSummary | undefined> {
  const to = new Date(new Date(hour).getTime() + HOUR_MS).toISOString()
  const pages = await Promise.all(
    WAITING.map((state) =>
      call<Page<MessageSummary>>('GET', '/rest/messages', { query: { state, from: hour, to, limit: 200 } }),
    ),
  )
  return pages.flatMap(({ data }) => data).sort((a, b) => a.receivedAt.localeCompare(b.receivedAt))[0]
}

interface Group {
  key: string
  state: string
  reason: string
  fault: string | null | undefined
  messages: MessageSummary[]
}

/** What is dead, failed or unrouted, by reason; each group can be run again. */
function Attention() {
  const { data, error, reload } = useLoad('attention', attention, { everyMs: 5_000 })
  const replayAll = async ({ messages }: Group) => {
    const left = [...messages]
    let replayed = 0
    const replaySome = async () => {
      for (let one = left.pop(); one !== undefined; one = left.pop()) {
        await call('POST', `/rest/messages/${one._id}/replay`)
        replayed++
      }
    }
    try {
      await Promise.all(Array.from({ length: AT_ONCE }, replaySome))
    } finally {
      reload()
    }
    notify(`${count(replayed)} run again.`)
  }
  return (
    <Card title="Needs attention" note="The latest 200 of each state, by reason">
      {data === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {data?.length === 0 && <Empty title="Nothing is dead, failed or unrouted" />}
      <ul class="rows">
        {data?.map((group) => (
          <li key={group.key}>
            <div class="grow">
              <p class="line">
                <State of={group.state} />
                <strong>{count(group.messages.length)}</strong>
                <span>{group.reason}</span>
              </p>
              <p class="note">
                {causeInWords(group.fault) && `Caused by ${causeInWords(group.fault)}. `}
                Last <Time at={group.messages[0]?.receivedAt} relative />.{' '}
                <a href={hrefOf(`/messages/${group.messages[0]?._id}`)}>
                  Look at one<span class="hidden"> with {group.reason}</span>
                </a>
              </p>
            </div>
            {may('write', 'messages') && (
              <Button
                small
                label={`Replay ${group.messages.length} with ${group.reason}`}
                onClick={() => replayAll(group)}
              >
                Replay
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Card>
  )
}

async function attention(signal: AbortSignal): Promise<Group[]> {
  const pages = await Promise.all(
    REPLAYABLE.map((state) =>
      call<Page<MessageSummary>>('GET', '/rest/messages', { query: { state, limit: 200 }, signal }),
    ),
  )
  const groups = new Map<string, Group>()
  for (const message of pages.flatMap(({ data }) => data)) {
    const { state, reason = 'no reason given', fault } = message
    const key = `${state} ${reason} ${fault}`
    const group = groups.get(key) ?? { key, state, reason, fault, messages: [] }
    group.messages.push(message)
    groups.set(key, group)
  }
  return [...groups.values()].sort((a, b) => b.messages.length - a.messages.length)
}

const MOST_FINDINGS = 8

/** What `/rest/check` finds wrong with the configuration. */
function Problems() {
  const { data, error } = useLoad(
    'check',
    (signal) => call<Page<Finding>>('GET', '/rest/check', { signal }),
    { everyMs: 15_000 },
  )
  const findings = data?.data ?? []
  return (
    <Card title="Configuration" note="What is wrong with it">
      {data === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {data !== undefined && findings.length === 0 && <Empty title="Nothing is wrong" />}
      <ul class="rows">
        {findings.slice(0, MOST_FINDINGS).map((finding) => (
          <li key={`${finding.resource} ${finding._id} ${finding.path} ${finding.code}`}>
            <div class="grow">
              <p class="line">
                <a href={hrefOf(hrefOfFinding(finding))}>
                  {finding.resource} {finding._id}
                </a>
                <code>{finding.path}</code>
              </p>
              <p class="note">{finding.message}</p>
            </div>
          </li>
        ))}
      </ul>
      {findings.length > MOST_FINDINGS && <p class="note">{count(findings.length - MOST_FINDINGS)} more</p>}
    </Card>
  )
}
