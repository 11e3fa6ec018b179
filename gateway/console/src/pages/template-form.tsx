import type { TemplateDraft, TemplateParts } from '@parley/shared/providers/templates'
import { useState } from 'preact/hooks'
import { call } from '../api.ts'
import { Button, notify } from '../components/actions.tsx'
import { Card, Empty, Failure, Loading, PageHead } from '../components/basics.tsx'
import { SelectField, TextField } from '../components/fields.tsx'
import { useSubmit } from '../components/submit.ts'
import { TemplateView } from '../components/template-view.tsx'
import { JsonField } from '../json/json-field.tsx'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import { InputError } from '../problems.ts'
import { mayAll } from '../rights.ts'
import { hrefOf, navigate } from '../router.ts'
import {
  shownTemplate,
  type Template,
  type TemplateChannel,
  type TemplateProvider,
  templateChannels,
} from '../template-accounts.ts'
import { wordOf } from '../words.ts'
import { TemplatePartsFields } from './template-parts.tsx'

const BACK = { href: hrefOf('/templates'), label: t('Templates') }
const CATEGORIES = ['MARKETING', 'UTILITY', 'AUTHENTICATION'].map((value) => ({
  value,
  name: wordOf(value),
}))
const CODE = 'AUTHENTICATION'
const UNNAMED = 'template'
const EMPTY: TemplateParts = { body: '', footer: '', buttons: [], examples: {} }

/** Makes a template at the provider of a channel. */
export function NewTemplate() {
  const { data: channels, error } = useLoad('template channels', templateChannels)
  if (!mayAll('write', 'templates'))
    return <PageHead title={t('Your role can’t make templates')} back={BACK} />
  return (
    <>
      <PageHead
        title={t('New template')}
        back={BACK}
        note={t('The provider reviews it, which takes minutes to a day')}
      />
      {channels === undefined && (error ? <Failure error={error} /> : <Loading />)}
      {channels?.length === 0 && <Empty title={t('No channel names an account that has templates')} />}
      {channels?.[0] && <NewForm channels={channels} first={channels[0]} />}
    </>
  )
}

function NewForm({ channels, first }: { channels: readonly TemplateChannel[]; first: TemplateChannel }) {
  const [channel, setChannel] = useState(String(first._id))
  const [name, setName] = useState('')
  const [language, setLanguage] = useState('')
  const chosen = channels.find(({ _id }) => String(_id) === channel) ?? first
  const create = async (draft: Omit<TemplateDraft, 'name' | 'language'>) => {
    const body = { channel: chosen._id, name, language, ...draft }
    const made = await call<Template>('POST', '/rest/templates', { body })
    notify(t('{name} is made: it is {status}.', { name, status: wordOf(made.status) }))
    navigate(`/templates/${encodeURIComponent(made._id)}`)
  }
  return (
    <TemplateForm
      provider={chosen.provider as TemplateProvider}
      of={{ name, language, category: 'MARKETING', components: [] }}
      action={t('Submit for review')}
      onSubmit={create}
    >
      {channels.length > 1 && (
        <SelectField
          label={t('Channel')}
          note={t('Others of its account share it')}
          value={channel}
          options={channels.map((one) => ({ value: String(one._id), name: one.name }))}
          onChange={setChannel}
        />
      )}
      <TextField
        label={t('Name')}
        note={t('Small letters, digits and _')}
        value={name}
        onChange={setName}
        required
        isFirst
      />
      <TextField
        label={t('Language')}
        note={t('Such as en_US or pt_BR')}
        value={language}
        onChange={setLanguage}
        required
      />
    </TemplateForm>
  )
}

/** Changes a template, which is reviewed again then. */
export function EditTemplate({ template, provider }: { template: Template; provider: TemplateProvider }) {
  const { _id, name, language } = template
  const path = `/templates/${encodeURIComponent(_id)}`
  const change = async ({ category, components }: Omit<TemplateDraft, 'name' | 'language'>) => {
    const body = { components, ...(category !== template.category && { category }) }
    const { status } = await call<Template>('PUT', `/rest${path}`, { body })
    notify(t('{name} is changed: it is {status}.', { name, status: wordOf(status) }))
    navigate(path)
  }
  return (
    <>
      <PageHead
        title={t('Edit {name}', { name })}
        back={{ href: hrefOf(path), label: name }}
        note={t('{language} · it is reviewed again', { language })}
      />
      <TemplateForm provider={provider} of={template} action={t('Submit for review')} onSubmit={change} />
    </>
  )
}

interface FormProps {
  provider: TemplateProvider
  /** The draft that the form starts with; name and language as they are now. */
  of: TemplateDraft
  action: string
  onSubmit(draft: Omit<TemplateDraft, 'name' | 'language'>): Promise<void>
  children?: preact.ComponentChildren
}

/** The content of a template as fields, or as JSON where it is more than those say, with what the provider would refuse of it. */
function TemplateForm({ provider, of, action, onSubmit, children }: FormProps) {
  const { templates } = provider
  const [category, setCategory] = useState(of.category)
  const [parts, setParts] = useState(() =>
    of.components.length === 0 ? EMPTY : templates.partsOf(of.components),
  )
  const [json, setJson] = useState(() => jsonOf(of.components))
  const [isTyped, setTyped] = useState(false)
  const made = parts === undefined ? { components: componentsIn(json) } : templates.ofParts(parts)
  const { name, language } = of
  const draft = { ...made, name, language, category, components: made.components ?? [] }
  const wrong = templates.errorsOf(draft)
  const { busy, error, submit } = useSubmit(async () => {
    const { components } = made
    if (components === undefined) throw new InputError(t('The components are not a JSON list.'), [])
    await onSubmit({ ...made, components, category })
  })
  const choose = (next: string) => {
    setCategory(next)
    if (next === CODE) toJson(templates.codeComponents)
    else if (category === CODE) setParts(EMPTY)
  }
  const toJson = (components: readonly object[]) => {
    setParts(undefined)
    setJson(jsonOf(components))
  }
  const toFields = () => {
    const found = templates.partsOf(componentsIn(json) ?? [])
    if (found === undefined) notify(t('It says more than the fields can, so it stays JSON.'), 'bad')
    else setParts(found)
  }
  const shown = shownTemplate(
    provider,
    { ...draft, name: name || UNNAMED, language: language || 'en', status: 'APPROVED' },
    templates.argumentsOf(draft, parts?.examples ?? {}),
  )
  return (
    <div class="columns">
      <Card>
        <form class="form" onSubmit={submit} onInput={() => setTyped(true)}>
          {children}
          <SelectField label={t('Category')} value={category} options={CATEGORIES} onChange={choose} />
          <div class="field segments">
            <button
              type="button"
              aria-pressed={parts !== undefined}
              disabled={category === CODE}
              onClick={toFields}
            >
              {t('Fields')}
            </button>
            <button type="button" aria-pressed={parts === undefined} onClick={() => toJson(draft.components)}>
              {t('JSON')}
            </button>
          </div>
          {parts === undefined ? (
            <JsonField
              label={t('Components')}
              note={t('As the provider has them: HEADER, BODY, FOOTER, BUTTONS, CAROUSEL …')}
              isList
              rows={18}
              value={json}
              onChange={setJson}
            />
          ) : (
            <TemplatePartsFields parts={parts} rules={templates} onChange={setParts} />
          )}
          <Failure error={error} />
          <div class="actions">
            <Button type="submit" kind="primary" disabled={busy}>
              {action}
            </Button>
          </div>
        </form>
      </Card>
      <div>
        <Card title={t('What a person sees')}>
          <div class="bubbles">
            <div class="bubble theirs">{shown && <TemplateView preview={shown.preview} />}</div>
          </div>
        </Card>
        {isTyped && (
          <Card title={t('Checks')} note={t('What the provider is known to refuse')}>
            {wrong.length === 0 ? (
              <p>{t('Nothing speaks against it.')}</p>
            ) : (
              <ul>
                {wrong.map(({ path, message }) => (
                  <li key={path.join('/') + message}>
                    <strong>{placeOf(path, draft.components)}</strong> {translated(message)}
                  </li>
                ))}
              </ul>
            )}
          </Card>
        )}
      </div>
    </div>
  )
}

const jsonOf = (components: readonly object[]): string => JSON.stringify(components, null, 2)

/** Undefined for what is no list. */
function componentsIn(json: string): TemplateDraft['components'] | undefined {
  try {
    const found: unknown = JSON.parse(json)
    return Array.isArray(found) ? found : undefined
  } catch {
    return undefined
  }
}

/** The part of a template that a path leads to, in words. */
function placeOf(path: readonly string[], components: TemplateDraft['components']): string {
  const [field = '', at, ...rest] = path
  if (field !== 'components' || at === undefined) return wordOf(field)
  const type = components[Number(at)]?.type
  return [
    typeof type === 'string' ? wordOf(type) : at,
    ...rest.filter((key) => key !== 'buttons' && !key.includes('_')).map(wordOf),
  ].join(' ')
}
