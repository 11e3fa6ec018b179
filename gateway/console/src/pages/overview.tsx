import { useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Card, Empty, Failure, Loading, PageHead } from '../components/basics.tsx'
import { count, duration } from '../format.ts'
import { useLoad } from '../load.ts'
import { IN_FLIGHT } from '../messages.ts'
import { type Finding, hrefOfFinding } from '../resources.ts'
import { may, mayAll } from '../rights.ts'
import { hrefOf, type PageProps } from '../router.ts'
import { type Last, RANGES, readTraffic, readWaiting, type Traffic, type Waiting } from '../traffic.ts'
import { Attention, WaitingGroups } from './attention.tsx'
import { FirstSteps, useBegun } from './first-steps.tsx'
import { TrafficChart } from './traffic-chart.tsx'

const MOST_FINDINGS = 8
const MOST_SHOWN = 8
const NEARLY = 0.9
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
  const begun = useBegun()
  const [last, setLast] = useState<Last>('hour')
  const traffic = useLoad(`traffic ${last}`, (signal) => readTraffic(last, signal), { everyMs: AGAIN_MS })
  const waiting = useLoad('waiting', readWaiting, { everyMs: AGAIN_MS })
  const { data, error } = traffic
  const failed = error ?? waiting.error
  if (begun?.hasMessages === false) return <FirstSteps begun={begun} />
  if (data === undefined || waiting.data === undefined)
    return <Card>{failed ? <Failure error={failed} /> : <Loading lines={6} />}</Card>
  return (
    <>
      <div class="period">
        <h2>In the last {last}</h2>
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
      </div>
      <Tiles traffic={data} waiting={waiting.data} />
      <Card title={`Messages ${data.by === 'hour' ? 'an hour' : 'a minute'}`}>
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
  <Empty title={`Nothing has come in this ${last}`}>Messages appear here as they come in.</Empty>
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
      note: 'at the moment',
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
    {
      name: 'Done without a send',
      value: count(done),
      href: '/messages?state=done',
      note: 'nothing had to leave, as where the team has the conversation',
    },
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

const rate = (aMinute: number): string => count(Math.round(aMinute / 60))

/** How much of its rate each number uses. */
function NumberRates({ numbers }: Pick<Traffic, 'numbers'>) {
  return (
    <Card title="Rate of each number" note="In the last full minute, of what it may send in one">
      {numbers.length === 0 && <Empty title="Nothing was sent in the last hour" />}
      <ul class="rows">
        {numbers.slice(0, MOST_SHOWN).map(({ number, channels, sends, busiest, limit }) => (
          <li key={number}>
            <div class="grow">
              <p class="line">
                <strong>{number}</strong>
                <span class="quiet">{channels.join(', ')}</span>
              </p>
              <meter
                min={0}
                max={limit}
                high={limit * NEARLY}
                value={sends}
                aria-label={`Rate that ${number} uses`}
              />
              <p class="note">
                {count(sends)} of {count(limit)}, {rate(limit)} a second; {count(busiest)} in the busiest
                minute of the last hour
              </p>
            </div>
          </li>
        ))}
      </ul>
      {numbers.length > MOST_SHOWN && <p class="note">{count(numbers.length - MOST_SHOWN)} more</p>}
    </Card>
  )
}

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
