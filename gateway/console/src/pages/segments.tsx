import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call, type Page } from '../api.ts'
import { Button, DeleteButton, LinkButton, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading, PageHead, Time } from '../components/basics.tsx'
import { TextField } from '../components/fields.tsx'
import { type Column, Table } from '../components/list.tsx'
import { useSubmit } from '../components/submit.ts'
import { count } from '../format.ts'
import { t } from '../language.ts'
import { useLoad } from '../load.ts'
import { isGone } from '../problems.ts'
import { may } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import { countOf } from '../segment-count.ts'
import { filterInWords, type Segment, type SegmentFilter } from '../segments.ts'
import { PeopleCount, SegmentFilterFields } from './segment-filter.tsx'

const BACK = { href: hrefOf('/people/segments'), label: t('Segments') }
const NEW = 'new'

/** The segments that are saved. */
export function SegmentsSection({ tabs }: { tabs: ComponentChildren }) {
  const { data, error } = useLoad(
    'segments',
    (signal) => call<Page<Segment>>('GET', '/rest/segments', { signal }),
    { everyMs: 5_000 },
  )
  const writable = may('write', 'segments')
  const columns: Column<Segment>[] = [
    { name: t('Name'), cell: ({ name }) => name },
    { name: t('Who'), wide: true, cell: ({ filter }) => filterInWords(filter) },
    ...(may('read', 'people')
      ? [{ name: t('People'), cell: ({ filter }: Segment) => <People filter={filter} /> }]
      : []),
    { name: t('Changed'), wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
  ]
  return (
    <>
      <PageHead
        title={t('Segments')}
        note={t('People by what is known of them, as it is whenever one is used')}
      >
        {writable && (
          <LinkButton kind="primary" href={hrefOf(`/people/segments/${NEW}`)}>
            {t('New segment')}
          </LinkButton>
        )}
      </PageHead>
      {tabs}
      <Table
        {...{ label: t('Segments'), columns, rows: data?.data, error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/people/segments/${_id}`)}
        empty={
          <Empty title={t('No segments yet')}>
            {writable && <a href={hrefOf(`/people/segments/${NEW}`)}>{t('Make the first one')}</a>}
          </Empty>
        }
      />
    </>
  )
}

/** How many a segment has, counted when somebody asks: that may read everybody. */
function People({ filter }: { filter: SegmentFilter }) {
  const [found, setFound] = useState<number>()
  const show = async () => setFound(await countOf(filter))
  return found === undefined ? (
    <Button small label={t('Count: {filter}', { filter: filterInWords(filter) })} onClick={show}>
      {t('Count')}
    </Button>
  ) : (
    <span>{count(found)}</span>
  )
}

/** One segment, or a new one. */
export function SegmentPage({ id }: { id: string }) {
  const path = `/rest/segments/${id}`
  const isNew = id === NEW
  const { data, error } = useLoad(path, (signal) =>
    isNew ? Promise.resolve(undefined) : call<Segment>('GET', path, { signal }),
  )
  if (isNew) return <SegmentForm />
  if (data === undefined || isGone(error))
    return (
      <>
        <PageHead title={t('Segment')} back={BACK} />
        {error ? <Failure error={error} /> : <Loading />}
      </>
    )
  return <SegmentForm segment={data} />
}

function SegmentForm({ segment }: { segment?: Segment }) {
  const [name, setName] = useState(segment?.name ?? '')
  const [filter, setFilter] = useState<SegmentFilter>(segment?.filter ?? { all: [{ tag: '' }] })
  const writable = may('write', 'segments')
  const { busy, error, submit } = useSubmit(async () => {
    const id = segment?._id ?? idOf(name)
    const saved = await call<Segment>('PUT', `/rest/segments/${id}`, { body: { name, filter } })
    notify(t('{name} is saved.', { name: saved.name }))
    navigate(`/people/segments/${saved._id}`)
  })
  const remove = async () => {
    await call('DELETE', `/rest/segments/${segment?._id}`)
    notify(t('{name} was deleted.', { name }))
    navigate('/people/segments')
  }
  return (
    <>
      <PageHead title={segment?.name ?? t('New segment')} back={BACK}>
        {segment && writable && (
          <DeleteButton
            what={t('segment {name}', { name: segment.name })}
            note={t(
              'People stay. A campaign that was scheduled has its filter already; a draft has to name another one.',
            )}
            onDelete={remove}
          />
        )}
      </PageHead>
      <Card>
        {writable ? (
          <form class="form" onSubmit={submit}>
            <TextField label={t('Name')} value={name} onChange={setName} required />
            <SegmentFilterFields filter={filter} onChange={setFilter} />
            <Failure error={error} />
            <div class="actions">
              <Button type="submit" kind="primary" disabled={busy}>
                {t('Save')}
              </Button>
            </div>
          </form>
        ) : (
          <>
            <p>{filterInWords(filter)}</p>
            {may('read', 'people') && <PeopleCount filter={filter} />}
          </>
        )}
      </Card>
    </>
  )
}

/** A name for paths, with an end of its own: two segments may be called alike. */
function idOf(name: string): string {
  const plain = name.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const words =
    plain
      .match(/[a-z\d]+/g)
      ?.join('-')
      .slice(0, 48) ?? 'segment'
  return `${words}-${crypto.randomUUID().slice(0, 6)}`
}
