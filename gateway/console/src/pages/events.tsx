import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, DeleteButton, Dialog, LinkButton, notify, Paste } from '../components/actions.tsx'
import { Badge, Card, Empty, Fact, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { count, numbered } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import { readDocument, replaceDocument } from '../resources.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import type { Subscription } from '../subscriptions.ts'
import { reasonOf } from '../words.ts'
import { Deliveries } from './deliveries.tsx'
import { Findings, HistoryCard } from './document-cards.tsx'
import { NewSubscription } from './new-subscription.tsx'

const BACK = { href: hrefOf('/events'), label: t('Events') }

/** Where events go: the subscriptions, and one of them with its deliveries. */
export const EventsPage = byPath('/events', {
  '': SubscriptionList,
  new: NewSubscription,
  ':id': ({ rest: [id = ''], query }) => <SubscriptionPage key={id} id={id} query={query} />,
})

const COLUMNS: Column<Subscription>[] = [
  { name: t('Name'), cell: ({ name }) => name },
  { name: t('Address'), wide: true, cell: ({ url }) => <code class="cut">{url}</code> },
  {
    name: t('Events'),
    wide: true,
    cell: ({ events }) => <span title={events.join('\n')}>{count(events.length)}</span>,
  },
  { name: t('State'), cell: (one) => <SubscriptionState of={one} /> },
  { name: t('Changed'), wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
]

function SubscriptionList() {
  const list = useList<Subscription>('/rest/subscriptions')
  const writable = may('write', 'subscriptions')
  return (
    <>
      <PageHead
        title={t('Events')}
        note={t('What happens here, posted to endpoints of yours, signed and in order')}
      >
        {writable && (
          <LinkButton kind="primary" href={hrefOf('/events/new')}>
            {t('New subscription')}
          </LinkButton>
        )}
      </PageHead>
      <Table
        {...{ label: t('Subscriptions'), columns: COLUMNS, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/events/${_id}`)}
        empty={
          <Empty title={t('No subscriptions yet')}>
            {writable ? (
              <a href={hrefOf('/events/new')}>{t('Say where events go')}</a>
            ) : (
              t('Ask an admin to make one.')
            )}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}

/** One subscription: how it goes, what was delivered, and what may be done to it. */
function SubscriptionPage({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `/rest/subscriptions/${id}`
  const {
    data: read,
    error,
    reload,
  } = useLoad(path, (signal) => readDocument<Subscription>('subscriptions', id, signal), { everyMs: 5_000 })
  const [secret, setSecret] = useState<string>()
  const writable = may('write', 'subscriptions')
  if (read === undefined || isGone(error))
    return (
      <>
        <PageHead title={t('Subscription')} back={BACK} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const { data } = read
  const test = async () => {
    await call('POST', `${path}/test`)
    notify(t('A test event is on its way.'))
  }
  const patch = async (body: object) => {
    await call('PATCH', path, { body })
    reload()
  }
  const replaceSecret = async () => {
    const body = { ...bodyOf(data), signingSecret: null }
    const replaced = await replaceDocument<Subscription>('subscriptions', id, { body, over: read })
    setSecret(replaced.data.signingSecret)
    reload()
  }
  const remove = async () => {
    await call('DELETE', path)
    notify(t('{name} was deleted.', { name: data.name }))
    navigate('/events')
  }
  return (
    <>
      <PageHead title={data.name} back={BACK} note={<code>{data.url}</code>}>
        {writable && data.active && (
          <Button kind="primary" onClick={test}>
            {t('Send a test event')}
          </Button>
        )}
        {writable && (
          <Button onClick={() => patch({ active: !data.active })}>
            {data.active ? t('Turn off') : t('Turn on')}
          </Button>
        )}
        {writable && <DeleteButton what={t('subscription {name}', { name: data.name })} onDelete={remove} />}
      </PageHead>
      <Findings resource="subscriptions" id={data._id} />
      <Card>
        <dl class="facts">
          <Fact term={t('State')}>
            <SubscriptionState of={data} />
          </Fact>
          {data.failing && (
            <Fact term={t('Failing since')}>
              <Time at={data.failing.since} relative /> · {reasonOf(data.failing.reason)}
            </Fact>
          )}
          {data.full && (
            <Fact term={t('Full since')}>
              <Time at={data.full.since} relative /> · {reasonOf(data.full.reason)}
            </Fact>
          )}
          {data.disabled && (
            <Fact term={t('Turned off')}>
              <Time at={data.disabled.at} relative /> · {reasonOf(data.disabled.reason)}
            </Fact>
          )}
          <Fact term={t('Events')}>{data.events.join(', ')}</Fact>
          {data.channel && (
            <Fact term={t('Channel')}>
              <a href={hrefOf(`/channels/${data.channel}`)}>{numbered(data.channel)}</a>
            </Fact>
          )}
          {writable && (
            <Fact term={t('Signing secret')}>
              <Button small onClick={replaceSecret}>
                {t('Replace the signing secret')}
              </Button>
            </Fact>
          )}
        </dl>
      </Card>
      <Deliveries path={path} query={query} writable={writable && data.active} />
      <HistoryCard path="subscriptions" id={id} changed={data.updatedAt} />
      {secret && (
        <Dialog title={t('The new signing secret')} onClose={() => setSecret(undefined)}>
          <p>{t('Store it now: it is not shown again, and the old one signs nothing more.')}</p>
          <Paste value={secret} label={t('the signing secret')} />
        </Dialog>
      )}
    </>
  )
}

const bodyOf = ({ name, url, events, channel, active }: Subscription): object => ({
  ...{ name, url, events, active },
  ...(channel ? { channel } : {}),
})

function SubscriptionState({ of: { active, failing, full, disabled } }: { of: Subscription }) {
  if (disabled) return <Badge tone="bad">{t('turned off')}</Badge>
  if (!active) return <Badge>{t('off')}</Badge>
  if (full) return <Badge tone="bad">{t('full')}</Badge>
  if (failing) return <Badge tone="warn">{t('failing')}</Badge>
  return <Badge tone="good">{t('active')}</Badge>
}
