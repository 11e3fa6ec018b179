import type { Schemas } from '@parley/client'
import { useRef, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, LinkButton, notify } from '../components/actions.tsx'
import { Badge, Empty, PageHead, Time } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { type Column, More, Table, useList } from '../components/list.tsx'
import { byPath } from '../components/screens.tsx'
import { rich, t } from '../language.ts'
import { useLoad } from '../load.ts'
import { may, mayAll } from '../rights.ts'
import { hrefOf, type PageProps, setQuery } from '../router.ts'
import {
  type Template,
  type TemplateChannel,
  templateChannels,
  toneOfQuality,
  toneOfStatus,
} from '../template-accounts.ts'
import { wordOf } from '../words.ts'
import { TemplatePage } from './template.tsx'
import { NewTemplate } from './template-form.tsx'

const FILTERS = ['q', 'account', 'status', 'category', 'language'] as const
const STATUSES = ['APPROVED', 'PENDING', 'REJECTED', 'PAUSED', 'DISABLED']
const CATEGORIES = ['MARKETING', 'UTILITY', 'AUTHENTICATION']
const TYPING_MS = 350

/** The pages of templates, which a business may send to people at any time: the list, one of them, and a new one. */
export const TemplatesPage = byPath('/templates', {
  '': TemplateList,
  new: NewTemplate,
  ':id': OneTemplate,
  ':id/edit': OneTemplate,
})

function OneTemplate({ rest: [id = '', step] }: PageProps) {
  return <TemplatePage key={id} id={id} isEdited={step === 'edit'} />
}

function TemplateList({ query }: PageProps) {
  const filter = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? undefined]))
  const list = useList<Template>('/rest/templates', filter)
  const { data: channels = [] } = useLoad('template channels', templateChannels)
  const mayChange = mayAll('write', 'templates')
  const isFiltered = FILTERS.some((name) => query.get(name))
  const sync = async () => {
    const { accounts } = await call<Schemas['TemplatesSynchronised']>('POST', '/rest/templates/sync')
    list.reload()
    const wrong = accounts.find(({ error }) => error !== undefined)
    if (accounts.length === 0) notify(t('No channel names an account that has templates.'), 'bad')
    else if (wrong) notify(`${wrong.account}: ${wrong.error}`, 'bad')
    else notify(t('The templates are as the provider has them now.'))
  }
  const columns: Column<Template>[] = [
    { name: t('Name'), cell: ({ name }) => <span class="cut">{name}</span> },
    { name: t('Language'), cell: ({ language }) => language },
    {
      name: t('Status'),
      cell: ({ status }) => <Badge tone={toneOfStatus(status)}>{wordOf(status)}</Badge>,
    },
    { name: t('Category'), wide: true, cell: ({ category }) => wordOf(category) },
    {
      name: t('Quality'),
      wide: true,
      cell: ({ quality }) =>
        quality && quality !== 'UNKNOWN' ? (
          <Badge tone={toneOfQuality(quality)}>{wordOf(quality)}</Badge>
        ) : (
          <span class="quiet">{t('not known')}</span>
        ),
    },
    { name: t('Channels'), wide: true, cell: ({ account }) => namesOf(channels, account) },
    { name: t('Changed'), wide: true, cell: ({ updatedAt }) => <Time at={updatedAt} relative /> },
  ]
  return (
    <>
      <PageHead
        title={t('Templates')}
        note={t('What may be written to people at any time, once the provider has approved it')}
      >
        {mayChange && <Button onClick={sync}>{t('Synchronise now')}</Button>}
        {mayChange && channels.length > 0 && (
          <LinkButton kind="primary" href={hrefOf('/templates/new')}>
            {t('New template')}
          </LinkButton>
        )}
      </PageHead>
      <Filters query={query} channels={channels} />
      <Table
        {...{ label: t('Templates'), columns, rows: list.rows, error: list.error }}
        keyOf={({ _id }) => _id}
        hrefOf={({ _id }) => hrefOf(`/templates/${encodeURIComponent(_id)}`)}
        empty={
          <Empty title={isFiltered ? t('No templates match') : t('No templates yet')}>
            {isFiltered ? (
              <a href={hrefOf('/templates')}>{t('Show all')}</a>
            ) : (
              <NextStep hasAccount={channels.length > 0} />
            )}
          </Empty>
        }
      />
      <More list={list} />
    </>
  )
}

function NextStep({ hasAccount }: { hasAccount: boolean }) {
  if (hasAccount) return <>{t('Synchronise, and those of the account are here; or make one.')}</>
  if (!may('write', 'channels')) return <>{t('They come with a channel that names its account.')}</>
  return (
    <>
      {rich(
        'They come with a channel that names its account: <a>say businessAccountId in the settings of one</a>',
        { a: (text) => <a href={hrefOf('/channels')}>{text}</a> },
      )}
    </>
  )
}

/** The names of an account's channels; the account where none may be read. */
const namesOf = (channels: readonly TemplateChannel[], account: string): string =>
  channels
    .filter((one) => one.account === account)
    .map(({ name }) => name)
    .join(', ') || account

function Filters({ query, channels }: { query: URLSearchParams; channels: readonly TemplateChannel[] }) {
  const [text, setText] = useState(query.get('q') ?? '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const search = (value: string) => {
    setText(value)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => setQuery({ q: value.trim() }), TYPING_MS)
  }
  const accounts = [...new Set(channels.map(({ account }) => account))]
  const choices = (values: readonly string[]) => [
    { value: '', name: t('Any') },
    ...values.map((value) => ({ value, name: wordOf(value) })),
  ]
  return (
    <search class="filters">
      <div data-search>
        <TextField label={t('Name')} type="search" placeholder={t('Search')} value={text} onChange={search} />
      </div>
      <SelectField
        label={t('Channel')}
        value={query.get('account') ?? ''}
        options={[
          { value: '', name: t('Any') },
          ...accounts.map((account) => ({ value: account, name: namesOf(channels, account) })),
        ]}
        onChange={(account) => setQuery({ account })}
      />
      <SelectField
        label={t('Status')}
        value={query.get('status') ?? ''}
        options={choices(STATUSES)}
        onChange={(status) => setQuery({ status })}
      />
      <SelectField
        label={t('Category')}
        value={query.get('category') ?? ''}
        options={choices(CATEGORIES)}
        onChange={(category) => setQuery({ category })}
      />
    </search>
  )
}
