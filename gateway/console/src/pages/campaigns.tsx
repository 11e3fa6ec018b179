import { call } from '../api.ts'
import {
  type Campaign,
  type CampaignResults,
  isOver,
  isToCome,
  namesOfChannels,
  STATES,
  TONES,
} from '../campaigns.ts'
import { LinkButton } from '../components/actions.tsx'
import { Badge, Empty, PageHead, Time } from '../components/basics.tsx'
import { SelectField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { count, numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { oneAtATime } from '../one-at-a-time.ts'
import { may } from '../rights.ts'
import { hrefOf, type PageProps, setQuery } from '../router.ts'
import { wordOf } from '../words.ts'
import { CampaignPage } from './campaign.tsx'
import { EditCampaign, NewCampaign } from './campaign-form.tsx'

/** One template to many people: the list, one of them, and a new one. */
export const CampaignsPage = byPath('/campaigns', {
  '': CampaignList,
  new: ({ query }) => <NewCampaign from={query.get('from') ?? undefined} />,
  ':id': ({ rest: [id = ''], query }) => <CampaignPage key={id} id={id} query={query} />,
  ':id/edit': ({ rest: [id = ''] }) => <EditCampaign key={id} id={id} />,
})

function CampaignList({ query }: PageProps) {
  const state = query.get('state') ?? ''
  const list = useList<Campaign>('/rest/campaigns', { state })
  const channels = useLoad('names of channels', namesOfChannels)
  const writable = may('write', 'campaigns')
  const columns: Column<Campaign>[] = [
    { name: t('Name'), cell: ({ name }) => <span class="cut">{name}</span> },
    { name: t('State'), cell: (one) => <Badge tone={TONES[one.state]}>{wordOf(one.state)}</Badge> },
    { name: t('Sent'), cell: (one) => <Counts of={one} /> },
    { name: t('Template'), wide: true, cell: ({ template }) => <span class="cut">{template.name}</span> },
    {
      name: t('Channel'),
      wide: true,
      cell: ({ channel }) => channels.data?.get(channel) ?? numbered(channel),
    },
    {
      name: t('Began'),
      wide: true,
      cell: ({ startedAt }) =>
        startedAt ? <Time at={startedAt} relative /> : <span class="quiet">{t('not yet')}</span>,
    },
  ]
  return (
    <>
      <PageHead title={t('Campaigns')} note={t('One template to many people, each of whom is accounted for')}>
        {writable && (
          <LinkButton kind="primary" href={hrefOf('/campaigns/new')}>
            {t('New campaign')}
          </LinkButton>
        )}
      </PageHead>
      <search class="filters">
        <SelectField
          label={t('State')}
          value={state}
          options={[
            { value: '', name: t('Any') },
            ...STATES.map((value) => ({ value, name: wordOf(value) })),
          ]}
          onChange={(next) => setQuery({ state: next })}
        />
      </search>
      <Table
        {...{ label: t('Campaigns'), columns, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/campaigns/${_id}`)}
        empty={
          <Empty title={state === '' ? t('No campaigns yet') : t('No campaigns match')}>
            {state !== '' && <a href={hrefOf('/campaigns')}>{t('Show all')}</a>}
            {state === '' && writable && <a href={hrefOf('/campaigns/new')}>{t('Draft the first one')}</a>}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}

const RUNNING_MS = 10_000

/** How many got it, of how many; counted one campaign after another, since each is a look at all of its people. */
function Counts({ of }: { of: Campaign }) {
  const path = `/rest/campaigns/${of._id}/results`
  const { data } = useLoad(
    `${path} ${of.state}`,
    async (signal) =>
      isToCome(of)
        ? undefined
        : oneAtATime('campaign results', signal, () => call<CampaignResults>('GET', path, { signal })),
    isOver(of) || isToCome(of) ? {} : { everyMs: RUNNING_MS },
  )
  if (data === undefined) return <span class="quiet">{isToCome(of) ? '' : '…'}</span>
  const { audience, leftOut, states } = data
  const sent = (states.sent ?? 0) + (states.delivered ?? 0) + (states.read ?? 0)
  return (
    <span title={t('{count} left out', { count: count(leftOut) })}>
      {count(sent)} <span class="quiet">{t('of {audience}', { audience: count(audience - leftOut) })}</span>
    </span>
  )
}
