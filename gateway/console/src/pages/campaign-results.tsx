import type { Schemas } from '@parley/client'
import { call, callForBlob } from '../api.ts'
import { type Campaign, type CampaignResults, isOver, leftOutInWords } from '../campaigns.ts'
import { Button } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading, State, Time } from '../components/basics.tsx'
import { SelectField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { download } from '../download.ts'
import { count, percent } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { nameOf } from '../persons.ts'
import { may } from '../rights.ts'
import { hrefOf, setQuery } from '../router.ts'
import { wordOf } from '../words.ts'

const RUNNING_MS = 5_000
const OVER_MS = 10_000

/** The results for all recipients: the account, the errors, the hours, and each recipient. */
export function ResultsCards({ campaign, query }: { campaign: Campaign; query: URLSearchParams }) {
  const path = `/rest/campaigns/${campaign._id}`
  const { data, error } = useLoad(
    `${path}/results`,
    (signal) => call<CampaignResults>('GET', `${path}/results`, { signal }),
    { everyMs: isOver(campaign) ? OVER_MS : RUNNING_MS },
  )
  if (data === undefined) return error ? <Failure error={error} /> : <Loading />
  return (
    <>
      <Tiles of={data} />
      <div class="columns">
        <AccountCard of={data} isListed={campaign.isListed} />
        <div>
          {data.failedBy.length > 0 && <ErrorsCard of={data} />}
          {data.hours.length > 0 && <HoursCard of={data} />}
        </div>
      </div>
      <RecipientsCard campaign={campaign} query={query} />
    </>
  )
}

type RecipientState = keyof CampaignResults['states']

const sumOf = ({ states }: CampaignResults, ...names: RecipientState[]): number =>
  names.reduce((sum, name) => sum + states[name], 0)

function Tiles({ of }: { of: CampaignResults }) {
  const sent = sumOf(of, 'sent', 'delivered', 'read')
  const share = (part: number) => (sent === 0 ? '' : ` ${percent(part / sent)}`)
  const tiles = [
    { name: t('Sent'), value: sent, more: of.cost ? ` ${count(of.cost.amount)} ${of.cost.currency}` : '' },
    {
      name: t('Delivered'),
      value: sumOf(of, 'delivered', 'read'),
      more: share(sumOf(of, 'delivered', 'read')),
    },
    { name: t('Read'), value: sumOf(of, 'read'), more: share(sumOf(of, 'read')) },
    { name: t('Replied'), value: of.replied, more: share(of.replied) },
    { name: t('Opted out'), value: of.optedOut, more: share(of.optedOut) },
    { name: t('Still to come'), value: of.toCome, more: '' },
  ]
  return (
    <div class="tiles">
      {tiles.map(({ name, value, more }) => (
        <div key={name} class="tile">
          <span class="tile-name">
            {name}
            {more}
          </span>
          <strong>{count(value)}</strong>
        </div>
      ))}
    </div>
  )
}

interface Row {
  name: string
  people: number
}

const ROWS: { name: string; states: RecipientState[] }[] = [
  { name: t('Waiting'), states: ['waiting'] },
  { name: t('Under way'), states: ['claimed', 'posted'] },
  { name: t('Tried again later'), states: ['deferred'] },
  { name: t('Sent'), states: ['sent'] },
  { name: t('Delivered'), states: ['delivered'] },
  { name: t('Read'), states: ['read'] },
  { name: t('Failed'), states: ['failed'] },
  { name: t('Dead'), states: ['dead'] },
]

const AUDIENCE = t('Audience')

/** Everybody is in one of the rows. */
function AccountCard({ of, isListed }: { of: CampaignResults; isListed: boolean }) {
  const rows: Row[] = [
    ...of.leftOutBy.map(({ reason, recipients }) => ({
      name: t('Left out: {reason}', { reason: leftOutInWords(reason ?? '') }),
      people: Number(recipients),
    })),
    ...ROWS.map(({ name, states }) => ({ name, people: sumOf(of, ...states) })).filter(
      ({ people }) => people > 0,
    ),
    { name: t('Difference'), people: of.difference },
    { name: AUDIENCE, people: of.audience },
  ]
  return (
    <Card
      title={t('Everybody, counted once')}
      note={isListed ? undefined : t('The audience is still being listed, so it grows')}
      flush
    >
      <Table
        label={t('Everybody, counted once')}
        rows={rows}
        columns={[
          {
            name: t('What became of them'),
            cell: ({ name }) => (name === AUDIENCE ? <strong>{name}</strong> : name),
          },
          {
            name: t('People'),
            cell: ({ name, people }) =>
              name === AUDIENCE ? <strong>{count(people)}</strong> : count(people),
          },
        ]}
        keyOf={({ name }) => name}
        empty={<Empty title={t('Nobody yet')} />}
      />
    </Card>
  )
}

const ErrorsCard = ({ of }: { of: CampaignResults }) => (
  <Card title={t('Errors')} flush>
    <Table
      label={t('Errors')}
      rows={of.failedBy.map(({ code, recipients }) => ({ name: String(code), people: Number(recipients) }))}
      columns={[
        { name: t('Code'), cell: ({ name }: Row) => <code>{name}</code> },
        { name: t('People'), cell: ({ people }: Row) => count(people) },
      ]}
      keyOf={({ name }) => name}
      empty={<Empty title={t('None')} />}
    />
  </Card>
)

const HoursCard = ({ of }: { of: CampaignResults }) => (
  <Card title={t('By the hour')} flush>
    <Table
      label={t('By the hour')}
      rows={of.hours.slice(-48)}
      columns={[
        { name: t('Written to'), cell: ({ at }) => <Time at={at} /> },
        { name: t('Sent'), cell: ({ sent }) => count(sent) },
        { name: t('Delivered'), wide: true, cell: ({ delivered }) => count(delivered) },
        { name: t('Read'), wide: true, cell: ({ read }) => count(read) },
        { name: t('Failed'), cell: ({ failed }) => count(failed) },
        { name: t('Replied'), cell: ({ replied }) => count(replied) },
        { name: t('Opted out'), wide: true, cell: ({ optedOut }) => count(optedOut) },
      ]}
      keyOf={({ at }) => at}
      empty={<Empty title={t('Nobody yet')} />}
    />
  </Card>
)

type Recipient = Schemas['CampaignRecipient']

const STATES = ['waiting', 'posted', 'deferred', 'sent', 'delivered', 'read', 'failed', 'dead', 'left_out']

function RecipientsCard({ campaign, query }: { campaign: Campaign; query: URLSearchParams }) {
  const state = query.get('state') ?? ''
  const path = `/rest/campaigns/${campaign._id}`
  const list = useList<Recipient>(
    `${path}/recipients`,
    { state },
    { everyMs: isOver(campaign) ? OVER_MS : RUNNING_MS, keyOf: ({ person }) => person },
  )
  const save = async () => download(`campaign-${campaign._id}.ndjson`, await callForBlob(`${path}/export`))
  const columns: Column<Recipient>[] = [
    {
      name: t('Person'),
      cell: ({ person, name, addresses }) =>
        addresses === undefined ? (
          <code class="cut">{person}</code>
        ) : (
          nameOf({ ...(name && { name }), addresses })
        ),
    },
    {
      name: t('State'),
      cell: (one) => (
        <>
          <State of={one.state} />
          {one.repliedAt && <span class="quiet"> {t('replied')}</span>}
          {one.optedOutAt && <span class="quiet"> {t('opted out')}</span>}
        </>
      ),
    },
    {
      name: t('Why'),
      wide: true,
      cell: ({ reason, code }) => (
        <span class="quiet">
          {reason && leftOutInWords(reason)} {code !== reason && code}
        </span>
      ),
    },
    { name: t('Sent'), wide: true, cell: ({ sentAt }) => sentAt && <Time at={sentAt} /> },
    {
      name: t('Message'),
      cell: ({ message }) =>
        message && may('read', 'messages') && <a href={hrefOf(`/messages/${message}`)}>{t('Message')}</a>,
    },
  ]
  return (
    <Card title={t('People')} flush action={<Button onClick={save}>{t('Export')}</Button>}>
      <div class="filters card-head">
        <SelectField
          label={t('State')}
          value={state}
          options={[
            { value: '', name: t('Any') },
            ...STATES.map((value) => ({ value, name: wordOf(value) })),
          ]}
          onChange={(next) => setQuery({ state: next })}
        />
      </div>
      <Table
        {...{ label: t('People of the campaign'), columns, rows: list.rows, error: list.error }}
        keyOf={({ person }) => person}
        {...(may('read', 'people') && { hrefOf: ({ person }: Recipient) => hrefOf(`/people/${person}`) })}
        empty={<Empty title={t('Nobody is in that state')} />}
      />
      <More list={list} />
    </Card>
  )
}
