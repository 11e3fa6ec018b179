import type { ComponentChild } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { callTagged } from '../api.ts'
import { Button, Dialog, notify } from '../components/actions.tsx'
import { Badge, Empty, Failure, NotFound, PageHead, Tabs, Time } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { lazyPage } from '../components/lazy-page.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { useSubmit } from '../components/submit.ts'
import { t } from '../language.ts'
import type { Person } from '../person-of.ts'
import { listIn, nameOf, shownAddress, TONES } from '../persons.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate, setQuery } from '../router.ts'
import { wordOf } from '../words.ts'
import { AttributesSection } from './attributes.tsx'
import { PersonPage } from './person.tsx'
import { SegmentPage, SegmentsSection } from './segments.tsx'

const ImportDialog = lazyPage(async () => (await import('./people-import.tsx')).default)

const FILTERS = ['q', 'tag', 'marketing'] as const
const TYPING_MS = 350
const SECTIONS = [
  { path: '', name: t('People'), reads: 'people' },
  { path: '/segments', name: t('Segments'), reads: 'segments' },
  { path: '/attributes', name: t('Attributes'), reads: 'people' },
] as const

/** The pages about people: the list, one person, segments of them, and their attributes. */
export const PeoplePage = byPath('/people', {
  '': ({ query }) => readable('people', <PersonList query={query} />),
  segments: () => readable('segments', <SegmentsSection tabs={<Sections at="/segments" />} />),
  'segments/:id': ({ rest: [, id = ''] }) => <SegmentPage key={id} id={id} />,
  attributes: () => readable('people', <AttributesSection tabs={<Sections at="/attributes" />} />),
  ':id': ({ rest: [id = ''] }) => readable('people', <PersonPage key={id} id={decodeURIComponent(id)} />),
})

const readable = (resource: string, page: ComponentChild) => (may('read', resource) ? page : <NotFound />)

const Sections = ({ at }: { at: string }) => (
  <Tabs
    label={t('People')}
    tabs={SECTIONS.filter(({ reads }) => may('read', reads)).map(({ path, name }) => ({
      href: hrefOf(`/people${path}`),
      name,
    }))}
    at={hrefOf(`/people${at}`)}
  />
)

const COLUMNS: Column<Person>[] = [
  { name: t('Name'), cell: (person) => <span class="cut">{nameOf(person)}</span> },
  {
    name: t('Addresses'),
    wide: true,
    cell: ({ addresses: [first = '', ...others] }) => (
      <span class="cut" title={others.map(shownAddress).join('\n')}>
        {shownAddress(first)}
        {others.length > 0 && <span class="quiet"> {t('and {count} more', { count: others.length })}</span>}
      </span>
    ),
  },
  {
    name: t('Tags'),
    wide: true,
    cell: ({ tags }) => (
      <span class="labels">
        {tags.slice(0, 4).map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))}
        {tags.length > 4 && <span class="quiet">{t('and {count} more', { count: tags.length - 4 })}</span>}
      </span>
    ),
  },
  {
    name: t('Marketing'),
    cell: ({ consent: { marketing } }) => (
      <Badge tone={TONES[marketing.status]}>{wordOf(marketing.status)}</Badge>
    ),
  },
  { name: t('Last wrote'), wide: true, cell: ({ lastContactAt }) => <Time at={lastContactAt} relative /> },
]

function PersonList({ query }: { query: URLSearchParams }) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined]))
  const list = useList<Person>('/rest/people', filter)
  const [isAdding, setAdding] = useState(false)
  const [isImporting, setImporting] = useState(false)
  const isFiltered = FILTERS.some((name) => query.get(name))
  return (
    <>
      <PageHead title={t('People')} note={t('Everybody who wrote, was written to, or was added')}>
        {may('write', 'people') && (
          <>
            <Button onClick={() => setImporting(true)}>{t('Import a file')}</Button>
            <Button onClick={() => setAdding(true)}>{t('Add a person')}</Button>
          </>
        )}
      </PageHead>
      <Sections at="" />
      <Filters query={query} />
      <Table
        {...{ label: t('People'), columns: COLUMNS, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/people/${_id}`)}
        empty={
          <Empty title={isFiltered ? t('Nobody matches') : t('Nobody yet')}>
            {isFiltered ? (
              <a href={hrefOf('/people')}>{t('Show all')}</a>
            ) : (
              t('Whoever writes is here, and whoever is added.')
            )}
          </Empty>
        }
      />
      <More list={list} />
      {isAdding && <AddDialog onClose={() => setAdding(false)} />}
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
    </>
  )
}

function Filters({ query }: { query: URLSearchParams }) {
  const [typed, setTyped] = useState({ q: query.get('q') ?? '', tag: query.get('tag') ?? '' })
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const type = (field: keyof typeof typed) => (value: string) => {
    const next = { ...typed, [field]: value }
    setTyped(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setQuery({ q: next.q.trim(), tag: next.tag.trim() }), TYPING_MS)
  }
  return (
    <search class="filters">
      <div data-search>
        <TextField
          label={t('Name or number')}
          type="search"
          placeholder={t('Search')}
          value={typed.q}
          onChange={type('q')}
        />
      </div>
      <TextField label={t('Tag')} type="search" value={typed.tag} onChange={type('tag')} />
      <SelectField
        label={t('Marketing')}
        value={query.get('marketing') ?? ''}
        options={[
          { value: '', name: t('Any') },
          { value: 'granted', name: t('Granted') },
          { value: 'withdrawn', name: t('Withdrawn') },
          { value: 'unknown', name: t('Said nothing') },
        ]}
        onChange={(marketing) => setQuery({ marketing })}
      />
    </search>
  )
}

function AddDialog({ onClose }: { onClose(): void }) {
  const [addresses, setAddresses] = useState('')
  const [name, setName] = useState('')
  const [tags, setTags] = useState('')
  const { busy, error, submit } = useSubmit(async () => {
    const body = {
      addresses: listIn(addresses),
      ...(name !== '' && { name }),
      ...(tags !== '' && { tags: listIn(tags) }),
    }
    const { data } = await callTagged<Person>('POST', '/rest/people', { body })
    notify(t('{name} is there.', { name: nameOf(data) }))
    navigate(`/people/${data._id}`)
  })
  return (
    <Dialog title={t('Add a person')} onClose={onClose}>
      <form onSubmit={submit}>
        <AreaField
          label={t('Numbers or addresses')}
          note={t('One on each line. Who has one of them already is changed.')}
          rows={2}
          value={addresses}
          onChange={setAddresses}
        />
        <TextField label={t('Name')} value={name} onChange={setName} required={false} />
        <TextField
          label={t('Tags')}
          note={t('Between commas')}
          value={tags}
          onChange={setTags}
          required={false}
        />
        <Failure error={error} />
        <div class="actions end">
          <Button type="submit" kind="primary" disabled={busy || addresses.trim() === ''}>
            {t('Add')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
