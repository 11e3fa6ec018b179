import { call, listAll } from '../api.ts'
import { Button, DeleteButton, notify } from '../components/actions.tsx'
import { Badge, Card, Empty, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { download } from '../download.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Person } from '../person-of.ts'
import { nameOf, shownAddress } from '../persons.ts'
import { isGone } from '../problems.ts'
import { readDocument } from '../resources.ts'
import { may, mayAll } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { shownLast, type Thread } from '../threads.ts'
import { ConsentCard } from './person-consent.tsx'
import { PersonForm } from './person-form.tsx'

const BACK = { href: hrefOf('/people'), label: t('People') }
/** Resources that together make up all data of a person. */
const PARTS = ['people', 'threads', 'messages', 'tasks']
const MOST_THREADS = 200

/** One person: what is known of them, what they agreed to, and where they talk. */
export function PersonPage({ id }: { id: string }) {
  const path = `/rest/people/${encodeURIComponent(id)}`
  const {
    data: read,
    error,
    reload,
    put,
  } = useLoad(path, (signal) => readDocument<Person>('people', encodeURIComponent(id), signal), {
    everyMs: 5_000,
  })
  if (read === undefined || isGone(error))
    return (
      <>
        <PageHead title={t('Person')} back={BACK} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  const { data: person } = read
  const name = nameOf(person)
  const [first = ''] = person.addresses
  const save = async () => {
    download(`person-${person._id}.json`, JSON.stringify(await everythingOf(path), null, 2))
  }
  const erase = async () => {
    await call('DELETE', path)
    notify(t('{name} was erased.', { name }))
    navigate('/people')
  }
  return (
    <>
      <PageHead
        title={name}
        back={BACK}
        note={name === shownAddress(first) ? undefined : shownAddress(first)}
      >
        {PARTS.every((part) => mayAll('read', part)) && <Button onClick={save}>{t('Export')}</Button>}
        {PARTS.every((part) => mayAll('write', part)) && (
          <DeleteButton
            action={t('Erase')}
            what={name}
            note={t(
              'Everything goes for good, in every service: the person, their consent, conversations and messages. They get no marketing any more. Export it first if you have to show it.',
            )}
            onDelete={erase}
          />
        )}
      </PageHead>
      <PersonForm read={read} onReload={reload} onSaved={put} />
      <ConsentCard person={person} onChange={reload} />
      {may('read', 'threads') && <ThreadsCard person={person} />}
    </>
  )
}

/** Lists go on from page to page; the rest is on the first. */
async function everythingOf(path: string): Promise<object> {
  const all: Record<string, unknown> = {}
  for (let after: string | null | undefined; after !== null; ) {
    const query = after === undefined ? {} : { after }
    const { next, ...page } = await call<Record<string, unknown> & { next: string | null }>(
      'GET',
      `${path}/export`,
      { query },
    )
    for (const [name, value] of Object.entries(page)) {
      const known = all[name]
      all[name] = Array.isArray(known) && Array.isArray(value) ? [...known, ...value] : value
    }
    after = next
  }
  return all
}

function ThreadsCard({ person }: { person: Person }) {
  const { _id, addresses } = person
  const { data: threads, error } = useLoad(`threads of ${_id} ${addresses.join()}`, () => threadsOf(person))
  return (
    <Card title={t('Conversations')}>
      <Failure error={error} />
      {threads === undefined && !error && <Loading lines={2} />}
      {threads?.length === 0 && <Empty title={t('None that you may read')} />}
      <ul class="rows">
        {threads?.map((thread) => (
          <li key={thread._id}>
            <div class="grow">
              <a href={hrefOf(`/conversations/${encodeURIComponent(thread._id)}`)}>{thread.channel}</a>{' '}
              {thread.handler === 'person' && <Badge tone="info">{t('with the team')}</Badge>}
              <p class="quiet">{shownLast(thread.lastMessage).slice(0, 120)}</p>
            </div>
            <Time at={thread.lastAt} relative />
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Threads are found by numbers and names, and are a person's by their addresses. */
async function threadsOf({ addresses, name }: Person): Promise<Thread[]> {
  const numbers = addresses.filter((one) => one.startsWith('phone:')).map((one) => one.slice('phone:'.length))
  const asked = [...numbers, ...(numbers.length < addresses.length && name ? [name] : [])]
  const found = await Promise.all(
    asked.map((q) => listAll<Thread>('/rest/threads', { limit: MOST_THREADS, query: { q } })),
  )
  const own = new Set(addresses)
  const isTheirs = ({ addresses: of = [], user: { phone = '' } }: Thread) =>
    of.some((one) => own.has(one)) || own.has(`phone:${phone.replaceAll(/\D/g, '')}`)
  const all = new Map(
    found
      .flat()
      .filter(isTheirs)
      .map((thread) => [thread._id, thread]),
  )
  return [...all.values()].sort((one, other) => other.lastAt.localeCompare(one.lastAt))
}
