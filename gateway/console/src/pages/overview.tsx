import { useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Card, Empty, Failure, Loading, PageHead } from '../components/basics.tsx'
import { lazyPage } from '../components/lazy-page.tsx'
import { count, duration } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { IN_FLIGHT } from '../messages.ts'
import { type Finding, hrefOfFinding } from '../resources.ts'
import { may, mayAll } from '../rights.ts'
import { hrefOf, type PageProps } from '../router.ts'
import { kindInWords } from '../subscriptions.ts'
import { type Last, RANGES, readTraffic, readWaiting, type Traffic, type Waiting } from '../traffic.ts'
import { Attention, WaitingGroups } from './attention.tsx'
import { FirstSteps, useBegun } from './first-steps.tsx'
import { SampleCard } from './sample.tsx'

const TrafficChart = lazyPage(async () => (await import('./traffic-chart.tsx')).default)
const MOST_FINDINGS = 8
const MOST_SHOWN = 8
const NEARLY = 0.9
const AGAIN_MS = 5_000

/** How the workspace is: what came in, what became of it, and what needs somebody. */
export function OverviewPage(_props: PageProps) {
  const mayReadMessages = may('read', 'messages')
  return (
    <>
      <PageHead title={t('Overview')} />
      {mayAll('read', 'messages') ? (
        <Busy />
      ) : (
        <Empty
          title={
            mayReadMessages
              ? t('Your role can’t read all messages, so they are not counted')
              : t('Your role can’t read messages, so they are not counted')
          }
        >
          {t('Ask an admin for a role that can.')}
        </Empty>
      )}
      <div class="columns">
        {mayReadMessages && <Attention />}
        <Problems />
      </div>
      <SampleCard />
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
        <h2>{RANGES.find((range) => range.last === last)?.inLast}</h2>
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
      <Card title={data.by === 'hour' ? t('Messages an hour') : t('Messages a minute')}>
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
  <Empty title={RANGES.find((range) => range.last === last)?.nothing ?? ''}>
    {t('Messages appear here as they come in.')}
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
    { name: t('Accepted'), value: count(accepted), href: '/messages' },
    {
      name: t('In flight'),
      value: more ? t('over {count}', { count: count(messages) }) : count(messages),
      note: t('at the moment'),
      href: `/messages?state=${IN_FLIGHT}`,
    },
    {
      name: t('Sent'),
      value: count(sent),
      href: '/messages?state=sent,delivered,read',
      note: t('{delivered} delivered, {read} read', { delivered: count(delivered), read: count(read) }),
    },
    {
      name: t('Accepted to sent'),
      value: latency === null ? '–' : duration(latency.p50),
      note:
        latency === null
          ? t('nothing was sent')
          : t('median; 99 of 100 within {duration}', { duration: duration(latency.p99) }),
    },
    {
      name: t('Done without a send'),
      value: count(done),
      href: '/messages?state=done',
      note: t('nothing had to leave, as where the team has the conversation'),
    },
    { name: t('Dead'), value: count(dead), href: '/messages?state=dead', tone: dead > 0 ? 'bad' : '' },
    {
      name: t('Failed or unrouted'),
      value: count(failed + unrouted),
      href: `/messages?state=${failed > 0 ? 'failed' : 'unrouted'}`,
      tone: failed + unrouted > 0 ? 'warn' : '',
    },
    {
      name: t('Difference'),
      value: count(difference),
      tone: difference === 0 ? 'good' : 'bad',
      note:
        difference === 0 ? t('every message is accounted for') : t('accepted, but not found in any state'),
    },
  ]
}

const rate = (aMinute: number): string => count(Math.round(aMinute / 60))

/** How much of its rate each number uses. */
function NumberRates({ numbers }: Pick<Traffic, 'numbers'>) {
  return (
    <Card title={t('Rate of each number')} note={t('In the last full minute, of what it may send in one')}>
      {numbers.length === 0 && <Empty title={t('Nothing was sent in the last hour')} />}
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
                aria-label={t('Rate that {number} uses', { number })}
              />
              <p class="note">
                {t(
                  '{sends} of {limit}, {perSecond} a second; {busiest} in the busiest minute of the last hour',
                  {
                    sends: count(sends),
                    limit: count(limit),
                    perSecond: rate(limit),
                    busiest: count(busiest),
                  },
                )}
              </p>
            </div>
          </li>
        ))}
      </ul>
      {numbers.length > MOST_SHOWN && (
        <p class="note">{t('{count} more', { count: count(numbers.length - MOST_SHOWN) })}</p>
      )}
    </Card>
  )
}

/** The problems that `/rest/check` finds in the configuration. */
function Problems() {
  const { data, error } = useLoad(
    'check',
    (signal) => call<Page<Finding>>('GET', '/rest/check', { signal }),
    { everyMs: 15_000 },
  )
  const findings = data?.data ?? []
  return (
    <Card title={t('Configuration')} note={t('What is wrong with it')}>
      {data === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {data !== undefined && findings.length === 0 && <Empty title={t('Nothing is wrong')} />}
      <ul class="rows">
        {findings.slice(0, MOST_FINDINGS).map((finding) => (
          <li key={`${finding.resource} ${finding._id} ${finding.path} ${finding.code}`}>
            <div class="grow">
              <p class="line">
                <a href={hrefOf(hrefOfFinding(finding))}>
                  {kindInWords(finding.resource)} {finding._id}
                </a>
                <code>{finding.path}</code>
              </p>
              <p class="note">{finding.message}</p>
            </div>
          </li>
        ))}
      </ul>
      {findings.length > MOST_FINDINGS && (
        <p class="note">{t('{count} more', { count: count(findings.length - MOST_FINDINGS) })}</p>
      )}
    </Card>
  )
}
