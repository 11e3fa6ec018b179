import { call, type Page } from '../api.ts'
import { type CampaignDraft, variableKeys } from '../campaign-draft.ts'
import { audienceInWords, type Campaign } from '../campaigns.ts'
import { SelectField, TextField } from '../components/fields.tsx'
import { TemplateView } from '../components/template-view.tsx'
import { t, translated } from '../language.ts'
import { useLoad } from '../load.ts'
import type { Attribute } from '../persons.ts'
import { may } from '../rights.ts'
import type { Segment } from '../segments.ts'
import { shownTemplate, type Template, type TemplateProvider } from '../template-accounts.ts'
import { wordOf } from '../words.ts'
import { SegmentFilterFields } from './segment-filter.tsx'

interface DraftProps {
  draft: CampaignDraft
  set(change: Partial<CampaignDraft>): void
}

const OWN_FIELDS = ['name', 'language']

/** The fields for the placeholders of a template, and a preview of the result. */
export function CampaignTemplateFields({
  draft,
  set,
  template,
  provider,
}: DraftProps & { template: Template; provider: TemplateProvider }) {
  const { data: attributes = [] } = useLoad('attributes', async (signal) =>
    may('read', 'people')
      ? (await call<{ attributes: Attribute[] }>('GET', '/rest/people/attributes', { signal })).attributes
      : [],
  )
  const { templates } = provider
  const keys = new Set(Object.values(variableKeys(provider, template)))
  const names = [...OWN_FIELDS, ...attributes.map(({ name }) => name)]
  const variableOf = (key: string) => draft.variables[key] ?? { attribute: '', text: '' }
  const setVariable = (key: string, change: Partial<{ attribute: string; text: string }>) =>
    set({ variables: { ...draft.variables, [key]: { ...variableOf(key), ...change } } })
  const fields = templates.fieldsOf(template).map((field) => ({ ...field, label: translated(field.label) }))
  const filled = Object.fromEntries(
    fields.map(({ key }) => {
      const { attribute, text } = variableOf(key)
      return [key, keys.has(key) ? text || (attribute && `[${attribute}]`) : (draft.more[key] ?? '')]
    }),
  )
  const shown = shownTemplate(provider, template, templates.argumentsOf(template, filled))
  return (
    <>
      {fields.map(({ key, label, type, example }) =>
        keys.has(key) ? (
          <div key={key} class="inline">
            <SelectField
              label={label}
              value={variableOf(key).attribute}
              options={[
                { value: '', name: t('The same text for all') },
                ...names.map((name) => ({
                  value: name,
                  name: t('Their {name}', { name: OWN_FIELDS.includes(name) ? wordOf(name) : name }),
                })),
              ]}
              onChange={(attribute) => setVariable(key, { attribute })}
            />
            <TextField
              label={
                variableOf(key).attribute === ''
                  ? t('Text of {label}', { label })
                  : t('Without one, {label} is', { label })
              }
              placeholder={variableOf(key).attribute === '' ? (example ?? '') : t('they are left out')}
              value={variableOf(key).text}
              onChange={(text) => setVariable(key, { text })}
              required={variableOf(key).attribute === ''}
            />
          </div>
        ) : (
          <TextField
            key={key}
            label={label}
            type={type === 'url' ? 'url' : 'text'}
            value={draft.more[key] ?? ''}
            onChange={(value) => set({ more: { ...draft.more, [key]: value } })}
          />
        ),
      )}
      <div class="bubbles">
        <div class="bubble theirs">{shown && <TemplateView preview={shown.preview} />}</div>
      </div>
    </>
  )
}

/** Everybody, a segment, or a filter of its own. */
export function AudienceFields({ draft, set, campaign }: DraftProps & { campaign: Campaign | undefined }) {
  const { data: segments = [] } = useLoad('segments', async (signal) =>
    may('read', 'segments') ? (await call<Page<Segment>>('GET', '/rest/segments', { signal })).data : [],
  )
  const { audience, segment } = draft
  const known = segments.some(({ _id }) => _id === segment)
  return (
    <>
      <SelectField
        label={t('Audience')}
        value={audience}
        options={[
          { value: 'everybody', name: t('Everybody') },
          ...(segments.length > 0 || audience === 'segment'
            ? [{ value: 'segment', name: t('A segment') }]
            : []),
          { value: 'filter', name: t('Who meets conditions') },
          ...(audience === 'as_is' && campaign ? [{ value: 'as_is', name: audienceInWords(campaign) }] : []),
        ]}
        onChange={(chosen) =>
          set({ audience: chosen as CampaignDraft['audience'], segment: segment || (segments[0]?._id ?? '') })
        }
      />
      {audience === 'segment' && (
        <SelectField
          label={t('Segment')}
          value={segment}
          options={[
            ...(known ? [] : [{ value: segment, name: segment || t('Choose …') }]),
            ...segments.map(({ _id, name }) => ({ value: _id, name })),
          ]}
          onChange={(chosen) => set({ segment: chosen })}
        />
      )}
      {audience === 'filter' && (
        <SegmentFilterFields filter={draft.filter} onChange={(filter) => set({ filter })} />
      )}
      <fieldset class="field choices">
        <legend>{t('Consent')}</legend>
        <label>
          <input
            type="checkbox"
            checked={draft.requiresConsent}
            onChange={({ currentTarget }) => set({ requiresConsent: currentTarget.checked })}
          />
          {t('Only who has granted consent')}
        </label>
        <p class="note">{t('Who has withdrawn it gets nothing in any case.')}</p>
      </fieldset>
    </>
  )
}

/** When it begins, rests and ends. */
export function TimeFields({ draft, set }: DraftProps) {
  return (
    <>
      <TextField
        label={t('Begins')}
        type="datetime-local"
        note={t('At once where it is empty')}
        value={draft.at}
        onChange={(at) => set({ at })}
        required={false}
      />
      <TextField
        label={t('Time zone')}
        value={draft.timeZone}
        onChange={(timeZone) => set({ timeZone })}
        required
      />
      <fieldset class="field choices">
        <legend>{t('Whose clock')}</legend>
        <label>
          <input
            type="checkbox"
            checked={draft.inEachTimeZone}
            onChange={({ currentTarget }) => set({ inEachTimeZone: currentTarget.checked })}
          />
          {t('At that time where each person is')}
        </label>
      </fieldset>
      <div class="inline">
        <TextField
          label={t('Quiet from')}
          placeholder="21:00"
          value={draft.quietFrom}
          onChange={(quietFrom) => set({ quietFrom })}
          required={false}
        />
        <TextField
          label={t('Quiet to')}
          placeholder="08:00"
          value={draft.quietTo}
          onChange={(quietTo) => set({ quietTo })}
          required={draft.quietFrom !== ''}
        />
      </div>
      <TextField
        label={t('Ends')}
        type="datetime-local"
        note={t('Nobody is written to from then on')}
        value={draft.endsAt}
        onChange={(endsAt) => set({ endsAt })}
        required={false}
      />
    </>
  )
}

/** The rate, the budget, and who is spared. */
export function LimitFields({ draft, set }: DraftProps) {
  const number = (field: keyof CampaignDraft, label: string, note?: string) => (
    <TextField
      label={label}
      type="number"
      note={note}
      value={String(draft[field])}
      onChange={(value) => set({ [field]: value })}
      required={false}
    />
  )
  return (
    <>
      {number(
        'messagesPerSecond',
        t('Messages a second'),
        t('As many as the number allows where it is empty'),
      )}
      {number('budgetMessages', t('Messages at most'))}
      <div class="inline">
        {number('budgetAmount', t('Money at most'))}
        {number('perMessage', t('Price of a message'))}
        <TextField
          label={t('Currency')}
          placeholder="BRL"
          value={draft.currency}
          onChange={(currency) => set({ currency })}
          required={draft.budgetAmount !== ''}
        />
      </div>
      <div class="inline">
        {number('capMessages', t('Of other campaigns at most'))}
        {number('capDays', t('In so many days'))}
      </div>
      {number('holdoutPercent', t('Left out to compare with, percent'))}
    </>
  )
}
