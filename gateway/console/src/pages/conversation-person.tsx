import type { Schemas } from '@parley/client'
import { call, type Page } from '../api.ts'
import { Badge, Fact, Failure, Loading, Time } from '../components/basics.tsx'
import { ScrollRegion } from '../components/scroll-region.tsx'
import { clockTime, languageName } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { type Person, usePersonOf } from '../person-of.ts'
import { may } from '../rights.ts'
import { hrefOf } from '../router.ts'
import { nameOf, shownLast, type Thread } from '../threads.ts'
import { wordOf } from '../words.ts'

type Campaign = Schemas['PersonCampaign']

const TONES = { granted: 'good', withdrawn: 'bad', unknown: 'neutral' } as const
const MOST_OTHERS = 20
const MOST_CAMPAIGNS = 5

/** The other side of a conversation: the person's data, their consent, and their other conversations. */
export function PersonAside({ thread }: { thread: Thread }) {
  const person = usePersonOf(thread)
  return (
    <ScrollRegion as="aside" class="conversation-person" label={t('About {name}', { name: nameOf(thread) })}>
      {person.data === undefined && (person.error ? <Failure error={person.error} /> : <Loading lines={5} />)}
      {person.data === null && (
        <p class="quiet">{t('No record of this person may be read, or there is none.')}</p>
      )}
      {person.data && <PersonFacts person={person.data} />}
      {thread.task && <TaskFact task={thread.task} />}
      <Campaigns thread={thread} person={person.data ?? undefined} />
      <OtherThreads thread={thread} />
    </ScrollRegion>
  )
}

const PURPOSES = [
  { purpose: 'marketing', name: t('Marketing') },
  { purpose: 'service', name: t('Service') },
] as const

function PersonFacts({ person }: { person: Person }) {
  const { name, addresses, language, timeZone, tags, attributes, consent, lastContactAt } = person
  const values = Object.entries(attributes)
  return (
    <dl class="facts">
      {name && <Fact term={t('Name')}>{name}</Fact>}
      <Fact term={t('Addresses')}>
        {addresses.map((address) => (
          <span key={address} class="address">
            {address.replace(/^phone:/, '+')}
          </span>
        ))}
      </Fact>
      {language && <Fact term={t('Language')}>{languageName(language)}</Fact>}
      {timeZone && (
        <Fact term={t('Their time')}>
          {clockTime(new Date(), timeZone)} <span class="quiet">{timeZone}</span>
        </Fact>
      )}
      {tags.length > 0 && (
        <Fact term={t('Tags')}>
          <span class="labels">
            {tags.map((tag) => (
              <span key={tag} class="tag">
                {tag}
              </span>
            ))}
          </span>
        </Fact>
      )}
      {PURPOSES.map(({ purpose, name: term }) => {
        const { status, at } = consent[purpose]
        return (
          <Fact key={purpose} term={term}>
            <Badge tone={TONES[status]}>{wordOf(status)}</Badge> {at && <Time at={at} />}
          </Fact>
        )
      })}
      {values.map(([key, value]) => (
        <Fact key={key} term={key}>
          {String(value)}
        </Fact>
      ))}
      {lastContactAt && (
        <Fact term={t('Last wrote')}>
          <Time at={lastContactAt} relative />
        </Fact>
      )}
    </dl>
  )
}

const TaskFact = ({ task: { _id, name, status } }: { task: NonNullable<Thread['task']> }) => (
  <dl class="facts">
    <Fact term={t('Task')}>
      <a href={hrefOf(`/assistants/tasks/${_id}`)}>{name || _id}</a> <Badge>{wordOf(status)}</Badge>
    </Fact>
  </dl>
)

/** The campaigns that wrote to the person last, and what became of that; where they may not be read, when the last one did. */
function Campaigns({ thread, person }: { thread: Thread; person: Person | undefined }) {
  const path = may('read', 'campaigns') && person ? `/rest/people/${person._id}/campaigns` : undefined
  const { data = [] } = useLoad(`${path} of ${thread.campaign?._id}`, async (signal) =>
    path === undefined ? [] : (await call<{ data: Campaign[] }>('GET', path, { signal })).data,
  )
  if (data.length === 0) return thread.campaign ? <LastCampaign at={thread.campaign.at} /> : null
  return (
    <>
      <h2>{t('Campaigns')}</h2>
      <ul class="other-threads">
        {data.slice(0, MOST_CAMPAIGNS).map(({ _id, name, state, sentAt, due }) => (
          <li key={_id}>
            <a href={hrefOf(`/campaigns/${_id}`)}>{name}</a>{' '}
            <span class="quiet">
              <Time at={sentAt ?? due} relative /> · {wordOf(state)}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}

const LastCampaign = ({ at }: { at: string }) => (
  <dl class="facts">
    <Fact term={t('Last campaign')}>
      <Time at={at} relative />
    </Fact>
  </dl>
)

/** The same person's conversations on other channels. */
function OtherThreads({ thread }: { thread: Thread }) {
  const { addresses = [] } = thread
  const number = addresses.find((address) => address.startsWith('phone:'))?.slice('phone:'.length)
  const { data = [] } = useLoad(`threads of ${number}`, async (signal) => {
    if (number === undefined) return []
    const query = { q: number, limit: MOST_OTHERS }
    return (await call<Page<Thread>>('GET', '/rest/threads', { query, signal })).data
  })
  const others = data.filter(
    (one) => one._id !== thread._id && one.addresses?.some((address) => addresses.includes(address)),
  )
  if (others.length === 0) return null
  return (
    <>
      <h2>{t('Other conversations')}</h2>
      <ul class="other-threads">
        {others.map((one) => (
          <li key={one._id}>
            <a href={hrefOf(`/conversations/${one._id}`)}>{one.channel}</a>{' '}
            <span class="quiet">
              <Time at={one.lastAt} relative /> · {shownLast(one.lastMessage)}
            </span>
          </li>
        ))}
      </ul>
    </>
  )
}
