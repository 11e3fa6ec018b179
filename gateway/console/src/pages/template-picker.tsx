import type { Provider } from '@parley/shared/providers/provider'
import type { TemplateField } from '@parley/shared/providers/templates'
import { useState } from 'preact/hooks'
import { Loading } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { languageName } from '../format.ts'
import { t, translated } from '../language.ts'
import { usePersonOf } from '../person-of.ts'
import type { Draft } from '../replies.ts'
import { inLanguage, sendable, type Template } from '../templates.ts'
import type { Thread } from '../threads.ts'
import { wordOf } from '../words.ts'

const MOST_LISTED = 50
/** So many are seen without a search. */
const FEW = 6

interface PickerProps {
  thread: Thread
  provider: Provider
  /** Of the channel; undefined while they are loaded. */
  templates: readonly Template[] | undefined
  /** The one that is chosen. */
  template: Template | undefined
  draft: Draft
  set(change: Partial<Draft>): void
}

/** Which template is sent, in the person's language where it is there, and what it is filled with. */
export function TemplatePicker({ thread, provider, templates, template, draft, set }: PickerProps) {
  const person = usePersonOf(thread)
  const isPersonKnown = person.data !== undefined || person.error !== undefined
  if (templates === undefined || !isPersonKnown) return <Loading lines={3} />
  const byName = sendable(templates)
  const own = person.data?.language
  const languages = [...(own === undefined ? [] : [own]), ...navigator.languages]
  const inAll = template && byName.get(template.name)
  if (template === undefined || inAll === undefined)
    return (
      <TemplateList
        byName={byName}
        languages={languages}
        onChoose={({ name, language }) => set({ template: name, language, filled: {} })}
      />
    )
  return (
    <div class="template-fields">
      <p class="line">
        <strong>{template.name}</strong>
        <span class="quiet">{wordOf(template.category)}</span>
        <button type="button" class="link" onClick={() => set({ template: '', language: '', filled: {} })}>
          {t('Another template')}
        </button>
      </p>
      {inAll.length > 1 && (
        <SelectField
          label={t('Language')}
          value={template.language}
          options={inAll.map(({ language }) => ({ value: language, name: languageName(language) }))}
          onChange={(language) => set({ language })}
        />
      )}
      {provider.templates?.fieldsOf(template).map((field, at) => (
        <FilledField
          key={field.key}
          field={field}
          isFirst={at === 0}
          value={draft.filled[field.key] ?? ''}
          onChange={(value) => set({ filled: { ...draft.filled, [field.key]: value } })}
        />
      ))}
    </div>
  )
}

const TYPES = { text: 'text', url: 'url', number: 'text', time: 'datetime-local' } as const

const FilledField = ({
  field: { label, type, example },
  ...rest
}: {
  field: TemplateField
  value: string
  isFirst: boolean
  onChange(value: string): void
}) => (
  <TextField
    label={translated(label)}
    type={TYPES[type]}
    note={example && t('Such as {example}', { example })}
    required
    {...rest}
  />
)

interface ListProps {
  byName: ReadonlyMap<string, Template[]>
  languages: readonly string[]
  onChoose(template: Template): void
}

/** The approved ones by name, each as it reads in the first of the languages. */
function TemplateList({ byName, languages, onChoose }: ListProps) {
  const [sought, setSought] = useState('')
  const words = sought
    .toLowerCase()
    .split(/[\s_]+/)
    .filter(Boolean)
  const all = [...byName].flatMap(([name, inAll]) => {
    const template = inLanguage(inAll, languages)
    const text = `${name} ${bodyOf(template)}`.toLowerCase()
    return template !== undefined && words.every((word) => text.includes(word)) ? [template] : []
  })
  return (
    <div class="template-list">
      {byName.size > FEW && (
        <TextField label={t('Find a template')} type="search" value={sought} onChange={setSought} isFirst />
      )}
      {all.length === 0 && <p class="note">{t('No template has that.')}</p>}
      <ul aria-label={t('Templates')}>
        {all.slice(0, MOST_LISTED).map((template) => (
          <li key={template._id}>
            <button type="button" class="template-choice" onClick={() => onChoose(template)}>
              <strong>{template.name}</strong>
              <span class="quiet">
                {template.language} · {wordOf(template.category)}
              </span>
              <span class="template-text quiet">{bodyOf(template)}</span>
            </button>
          </li>
        ))}
      </ul>
      {all.length > MOST_LISTED && (
        <p class="note">{t('{count} more: search for one', { count: all.length - MOST_LISTED })}</p>
      )}
    </div>
  )
}

const bodyOf = (template: Template | undefined): string => {
  const body = template?.components.find(({ type }) => String(type).toUpperCase() === 'BODY')
  return typeof body?.text === 'string' ? body.text : ''
}

/** Where no template of the channel is known: its name, its language and its variables by heart. The language stays what it was, or is the person's. */
export function TypedTemplate({ thread, draft, set }: Pick<PickerProps, 'thread' | 'draft' | 'set'>) {
  const person = usePersonOf(thread)
  const [latest, setLatest] = useState<string>()
  const usual = latest ?? person.data?.language ?? ''
  const isBegun = draft.template !== '' || draft.language !== ''
  const language = isBegun ? draft.language : usual
  return (
    <>
      <p class="note">
        {t(
          'No approved template of this channel is known here. Give the channel its account at the provider, or name the template.',
        )}
      </p>
      <div class="filters">
        <TextField
          label={t('Template')}
          value={draft.template}
          onChange={(template) => set({ template, language })}
          required
        />
        <TextField
          label={t('Language')}
          value={language}
          onChange={(typed) => {
            setLatest(typed)
            set({ language: typed })
          }}
          required
        />
        <AreaField
          label={t('Variables')}
          note={t('One on each line; name = value where the template has names')}
          rows={2}
          value={draft.variables}
          onChange={(variables) => set({ variables })}
          required={false}
        />
      </div>
    </>
  )
}
