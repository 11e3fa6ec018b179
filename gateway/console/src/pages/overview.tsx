import { useState } from 'preact/hooks'
import type { PageProps } from '../app.tsx'
import { Card, Empty, Failure, Loading, PageHead } from '../components/basics.tsx'
import { count, duration } from '../format.ts'
import { useLoad } from '../load.ts'
import { IN_FLIGHT } from '../messages.ts'
import { may, mayAll } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { type Last, RANGES, readTraffic, readWaiting, type Traffic, type Waiting } from '../traffic.ts'
import { Attention } from './attention.tsx'
import { Problems } from './configuration-problems.tsx'
import { NumberRates } from './number-rates.tsx'
import { TrafficChart } from './traffic-chart.tsx'
import { WaitingGroups } from './waiting-groups.tsx'

const AGAIN_MS = 5_000

/** How the workspace is: what came in, what became of it, and what needs somebody. */
export function OverviewPage(_props: PageProps) {
  const mayReadMessages = may('read', 'messages')
  return (
    <>
      <PageHead title="Overview" />
      {mayAll('read', 'messages') ? (
        <Busy />
      ) : (
        <Empty
          title={`Your role can’t read ${mayReadMessages ? 'all ' : ''}messages, so they are not counted`}
        >
          Ask an admin for a role that can.
        </Empty>
      )}
      <div class="columns">
        {mayReadMessages && <Attention />}
        <Problems />
      </div>
    </>
  )
}

/** Polled: what is counted is there a second after the event that a stream would have. */
function Busy() {
  const [last, setLast] = useState<Last>('hour')
  const traffic = useLoad(`traffic ${last}`, (signal) => readTraffic(last, signal), { everyMs: AGAIN_MS })
  const waiting = useLoad('waiting', readWaiting, { everyMs: AGAIN_MS })
  const { data, error } = traffic
  const failed = error ?? waiting.error
  if (data === undefined || waiting.data === undefined)
    return <Card>{failed ? <Failure error={failed} /> : <Loading lines={6} />}</Card>
  return (
    <>
      <Tiles traffic={data} waiting={waiting.data} />
      <Card
        title={`Messages ${data.by === 'hour' ? 'an hour' : 'a minute'}`}
        action={
          <div class="segments">
            {RANGES.map((range) => (
              <button
                key={range.last}
                type="button"
                aria-pressed={range.last === last}
                onClick={() => setLast(range.last)}
              >
                {range.name}
              </button>
            ))}
          </div>
        }
      >
        {data.periods.length === 0 ? <Nothing last={last} /> : <TrafficChart traffic={data} />}
      </Card>
      <div class="columns">
        <WaitingGroups waiting={waiting.data} />
        <NumberRates numbers={data.numbers} />
      </div>
    </>
  )
}

const Nothing = ({ last }: { last: Last }) => (
  <Empty title={`Nothing has come in this ${last}`}>
    {may('write', 'channels') ? (
      <a href={hrefOf('/channels/new')}>Connect a channel</a>
    ) : (
      'Messages appear here as they come in.'
    )}
  </Empty>
)

interface Tile {
  name: string
  value: string
  href?: string
  tone?: string
  note?: string
}

function Tiles({ traffic, waiting }: { traffic: Traffic; waiting: Waiting }) {
  return (
    <ul class="tiles">
      {tilesOf(traffic, waiting).map(({ name, value, href, tone, note }) => (
        <li key={name} class={`tile ${tone ?? ''}`}>
          <span class="tile-name">{href ? <a href={hrefOf(href)}>{name}</a> : name}</span>
          <strong>{value}</strong>
          {note && <span class="note">{note}</span>}
        </li>
      ))}
    </ul>
  )
}

function tilesOf(traffic: Traffic, { messages, more }: Waiting): Tile[] {
  const { accepted, sent, delivered, read, done, dead, failed, unrouted, latency, difference } = traffic
  return [
    { name: 'Accepted', value: count(accepted), href: '/messages' },
    {
      name: 'In flight',
      value: more ? `over ${count(messages)}` : count(messages),
      href: `/messages?state=${IN_FLIGHT}`,
    },
    {
      name: 'Sent',
      value: count(sent),
      href: '/messages?state=sent,delivered,read',
      note: `${count(delivered)} delivered, ${count(read)} read`,
    },
    {
      name: 'Accepted to sent',
      value: latency === null ? '–' : duration(latency.p50),
      note: latency === null ? 'nothing was sent' : `median; 99 of 100 within ${duration(latency.p99)}`,
    },
    { name: 'Done without a send', value: count(done), href: '/messages?state=done' },
    { name: 'Dead', value: count(dead), href: '/messages?state=dead', tone: dead > 0 ? 'bad' : '' },
    {
      name: 'Failed or unrouted',
      value: count(failed + unrouted),
      href: `/messages?state=${failed > 0 ? 'failed' : 'unrouted'}`,
      tone: failed + unrouted > 0 ? 'warn' : '',
    },
    {
      name: 'Difference',
      value: count(difference),
      tone: difference === 0 ? 'good' : 'bad',
      note: difference === 0 ? 'every message is accounted for' : 'accepted, but not found in any state',
    },
  ]
}
