import { LinkButton } from '../components/actions.tsx'
import { Empty, PageHead, Time } from '../components/basics.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { count } from '../format.ts'
import { may } from '../rights.ts'
import { hrefOf, type PageProps } from '../router.ts'
import type { Subscription } from '../subscriptions.ts'
import { NewSubscription } from './new-subscription.tsx'
import { SubscriptionPage, SubscriptionState } from './subscription.tsx'

/** Where events go: the subscriptions, and one of them with its deliveries. */
export function EventsPage({ rest: [id], query }: PageProps) {
  if (id === 'new') return <NewSubscription />
  if (id !== undefined) return <SubscriptionPage key={id} id={id} query={query} />
  return <SubscriptionList />
}

const COLUMNS: Column<Subscription>[] = [
  { name: 'Name', cell: ({ name }) => name },
  { name: 'Address', wide: true, cell: ({ url }) => <code class="cut">{url}</code> },
  {
    name: 'Events',
    wide: true,
    cell: ({ events }) => <span title={events.join('\n')}>{count(events.length)}</span>,
  },
  { name: 'State', cell: (one) => <SubscriptionState of={one} /> },
  { name: 'Changed', wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
]

function SubscriptionList() {
  const list = useList<Subscription>('/rest/subscriptions')
  const writable = may('write', 'subscriptions')
  return (
    <>
      <PageHead title="Events" note="What happens here, posted to endpoints of yours, signed and in order">
        {writable && (
          <LinkButton kind="primary" href={hrefOf('/events/new')}>
            New subscription
          </LinkButton>
        )}
      </PageHead>
      <Table
        {...{ label: 'Subscriptions', columns: COLUMNS, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/events/${_id}`)}
        empty={
          <Empty title="No subscriptions yet">
            {writable ? <a href={hrefOf('/events/new')}>Say where events go</a> : 'Ask an admin to make one.'}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}
