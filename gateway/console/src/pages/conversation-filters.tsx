import { useRef, useState } from 'preact/hooks'
import { useColleagues } from '../colleagues.ts'
import { SelectField } from '../components/fields.tsx'
import { useKnownLabels } from '../labels.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { channelNames } from '../resources.ts'
import { me } from '../rights.ts'
import { setQuery } from '../router.ts'
import { useStore } from '../store.ts'
import { isOwnTeam, ownTeamIds, teams } from '../teams.ts'

const VIEWS = [
  { name: t('All'), query: {} },
  { name: t('Unread'), query: { unread: 'true' } },
  { name: t('With the team'), query: { handler: 'person' } },
  { name: t('Mine'), query: { assignee: 'me' } },
  { name: t('My teams'), query: { team: 'mine' } },
] as const
const VIEWED = ['unread', 'handler', 'assignee', 'team'] as const
const TYPING_MS = 350

const STATUSES = [
  { value: 'open', name: t('Open') },
  { value: 'snoozed', name: t('Snoozed') },
  { value: 'resolved', name: t('Resolved') },
  { value: 'all', name: t('All') },
]

const FILTERS = [
  'q',
  'unread',
  'handler',
  'channel',
  'status',
  'assignee',
  'team',
  'label',
  'silent',
] as const
/** Where one of them is chosen, nothing else is out of the way. */
const CHOSEN = ['q', 'unread', 'handler', 'assignee', 'team', 'label'] as const

/** Returns the chosen filters, by the parameters of the page. */
export const chosenFilters = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    FILTERS.flatMap((name) => {
      const value = query.get(name)
      return value ? [[name, value]] : []
    }),
  )

/** The same as the parameters of the list. */
export function listQuery(query: URLSearchParams): Record<string, string | undefined> {
  const { silent, ...filter } = Object.fromEntries(
    FILTERS.map((name) => [name, query.get(name) ?? undefined]),
  )
  const { status = usualStatus(query), assignee, team } = filter
  return {
    ...filter,
    status: status === 'all' ? undefined : status,
    assignee: assignee === 'me' ? String(me.get()?._id) : assignee,
    team: team === 'mine' ? ownTeamIds() : team,
    wrote: hidesSilent(query) && silent === undefined ? 'true' : undefined,
  }
}

/** Returns the status that is listed without a choice of the user; a search looks everywhere. */
const usualStatus = (query: URLSearchParams): string => (query.get('q') ? 'all' : 'open')

/** True if conversations in which the person never wrote are hidden, unless somebody wants to see them. */
const hidesSilent = (query: URLSearchParams): boolean => CHOSEN.every((name) => !query.get(name))

/** Search, views and choices over the list of conversations. */
export function Filters({ query }: { query: URLSearchParams }) {
  const [text, setText] = useState(query.get('q') ?? '')
  const { data: channels = [] } = useLoad('channel names', channelNames)
  const colleagues = useColleagues()
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const search = (value: string) => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setQuery({ q: value.trim() }), TYPING_MS)
  }
  const isChosen = ({ query: view }: (typeof VIEWS)[number]) =>
    VIEWED.every((name) => (query.get(name) ?? undefined) === (view as Record<string, string>)[name])
  const channel = query.get('channel') ?? ''
  const [assignee, team] = [query.get('assignee') ?? '', query.get('team') ?? '']
  const all = useStore(teams)
  const hasTeam = all.some(isOwnTeam)
  const label = query.get('label') ?? ''
  const labels = [...new Set([...useKnownLabels(), ...(label === '' ? [] : [label])])]
  const own = me.get()?._id
  const anybody = [
    { value: '', name: t('Anybody') },
    { value: 'none', name: t('Nobody') },
    { value: 'me', name: t('Me') },
    ...(hasTeam ? [{ value: 'team mine', name: t('My teams') }] : []),
    ...colleagues.filter(({ _id }) => _id !== own).map(({ _id, name }) => ({ value: String(_id), name })),
    ...all.map(({ _id, name }) => ({ value: `team ${_id}`, name: t('Team {name}', { name }) })),
  ]
  const allChannels = [...new Set([...channels, ...(channel === '' ? [] : [channel])])]
  return (
    <search class="inbox-filters">
      <div data-search>
        <input
          type="search"
          aria-label={t('Search by name, number or message')}
          placeholder={t('Name, number or words ( / )')}
          value={text}
          onInput={(event) => search(event.currentTarget.value)}
        />
      </div>
      <div class="segments">
        {VIEWS.filter((view) => hasTeam || !('team' in view.query)).map((view) => (
          <button
            key={view.name}
            type="button"
            aria-pressed={isChosen(view)}
            onClick={() =>
              setQuery({
                ...{ unread: undefined, handler: undefined, assignee: undefined, team: undefined },
                ...view.query,
              })
            }
          >
            {view.name}
          </button>
        ))}
      </div>
      <div class="inbox-choices">
        <SelectField
          label={t('Status')}
          value={query.get('status') ?? usualStatus(query)}
          options={STATUSES}
          onChange={(value) => setQuery({ status: value === usualStatus(query) ? '' : value })}
        />
        <SelectField
          label={t('Assigned to')}
          value={team === '' ? assignee : `team ${team}`}
          options={anybody}
          onChange={(value) =>
            setQuery(
              value.startsWith('team ')
                ? { assignee: '', team: value.slice(5) }
                : { assignee: value, team: '' },
            )
          }
        />
        {allChannels.length > 1 && (
          <SelectField
            label={t('Channel')}
            value={channel}
            options={[{ value: '', name: t('All') }, ...allChannels.map((value) => ({ value, name: value }))]}
            onChange={(value) => setQuery({ channel: value })}
          />
        )}
        {labels.length > 0 && (
          <SelectField
            label={t('Label')}
            value={label}
            options={[{ value: '', name: t('All') }, ...labels.map((value) => ({ value, name: value }))]}
            onChange={(value) => setQuery({ label: value })}
          />
        )}
      </div>
      {hidesSilent(query) && (
        <label class="note">
          <input
            type="checkbox"
            checked={query.has('silent')}
            onChange={({ currentTarget }) => setQuery({ silent: currentTarget.checked ? 'true' : '' })}
          />{' '}
          {t('Also where the person never wrote')}
        </label>
      )}
    </search>
  )
}
