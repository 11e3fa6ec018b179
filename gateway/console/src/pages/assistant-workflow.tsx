import { Button } from '../components/actions.tsx'
import { Badge, Card } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { t } from '../language.ts'
import { may } from '../rights.ts'
import { reachedSteps, type StepForm, type Unread, type WorkflowForm } from '../setup/setup-form.ts'
import { OtherUsersNote } from './other-users.tsx'
import { WorkflowLines } from './workflow-lines.tsx'

const STEP = 'application/x-parley-step'
const NEW_WORKFLOW = -500_000

interface Props {
  workflow: WorkflowForm | null
  onChange(workflow: WorkflowForm): void
  unread: Unread
  /** The names of the other jobs that use it. */
  users: readonly string[]
}

/** The steps that a task goes through: each a card, connected by dragging one to another, or by choosing what comes next. */
export function AssistantWorkflow({ workflow, onChange, unread, users }: Props) {
  const isWritable =
    !unread.workflow && ['assistant', 'jobs', 'workflows', 'steps'].every((name) => may('write', name))
  const steps = workflow?.steps ?? []
  const reached = workflow === null ? new Set<number>() : reachedSteps(workflow)
  const add = () => {
    const id = Math.min(0, ...steps.map((step) => step.id)) - 1
    const last = steps.at(-1)
    const before = steps.map((step) => (step === last && step.next === null ? { ...step, next: id } : step))
    const step: StepForm = { id, name: '', instructions: '', submitWhen: '', next: null }
    onChange({
      ...(workflow ?? { id: NEW_WORKFLOW, name: t('Workflow'), instructions: '', first: id }),
      first: workflow?.first ?? steps[0]?.id ?? id,
      steps: [...before, step],
    })
  }
  const change = (id: number, part: Partial<StepForm>) => {
    if (workflow === null) return
    onChange({ ...workflow, steps: steps.map((step) => (step.id === id ? { ...step, ...part } : step)) })
  }
  const remove = ({ id, next }: StepForm) => {
    if (workflow === null) return
    onChange({
      ...workflow,
      first: workflow.first === id ? (next === id ? null : next) : workflow.first,
      steps: steps
        .filter((step) => step.id !== id)
        .map((step) => (step.next === id ? { ...step, next: next === id ? null : next } : step)),
    })
  }
  return (
    <Card
      title={t('Workflow')}
      note={t('What it does step by step. Without steps it only talks and uses its tools.')}
    >
      <OtherUsersNote names={users} />
      {unread.workflow && (
        <p class="note">{t('It can’t be read: it is gone, or your role may not read it.')}</p>
      )}
      {unread.steps > 0 && (
        <p class="note">
          {t(
            '{count, plural, one {# more step can’t be read: it is gone, or your role may not read it. It stays.} other {# more steps can’t be read: they are gone, or your role may not read them. They stay.}}',
            { count: unread.steps },
          )}
        </p>
      )}
      <fieldset class="bare" disabled={!isWritable}>
        {workflow !== null && steps.length > 0 && (
          <TextField
            label={t('Name of the workflow')}
            value={workflow.name}
            onChange={(name) => onChange({ ...workflow, name })}
            required
          />
        )}
        <WorkflowLines steps={steps}>
          <ol class="step-cards">
            {steps.map((step, at) => (
              <StepCard
                key={at}
                {...{ step, steps, isWritable, number: at + 1, isReached: reached.has(step.id) }}
                isFirst={workflow?.first === step.id}
                onStart={() => workflow !== null && onChange({ ...workflow, first: step.id })}
                onChange={(part) => change(step.id, part)}
                onConnect={(from) => change(from, { next: step.id })}
                onRemove={() => remove(step)}
              />
            ))}
          </ol>
        </WorkflowLines>
        {isWritable && <Button onClick={add}>{t('Add a step')}</Button>}
      </fieldset>
    </Card>
  )
}

interface StepProps {
  step: StepForm
  steps: readonly StepForm[]
  number: number
  isWritable: boolean
  isFirst: boolean
  isReached: boolean
  onStart(): void
  onChange(part: Partial<StepForm>): void
  /** The step of this id leads here. */
  onConnect(from: number): void
  onRemove(): void
}

function StepCard(props: StepProps) {
  const { step, steps, number, isWritable, isFirst, isReached, onStart, onChange, onConnect, onRemove } =
    props
  const named = (one: StepForm): string => one.name || t('Without a name')
  const drop = (event: DragEvent) => {
    const from = Number(event.dataTransfer?.getData(STEP) || Number.NaN)
    if (!Number.isSafeInteger(from)) return
    event.preventDefault()
    onConnect(from)
  }
  const leadsOn = step.next !== null && step.next === steps[number]?.id
  return (
    <li
      class={['step-card', !isReached && 'unreachable', leadsOn && 'leads-on'].filter(Boolean).join(' ')}
      onDragOver={(event) => event.dataTransfer?.types.includes(STEP) && event.preventDefault()}
      onDrop={drop}
    >
      <div class="line">
        <span class="node-number">{number}</span>
        {isFirst && <Badge tone="info">{t('first')}</Badge>}
        {!isReached && <Badge tone="warn">{t('not reached')}</Badge>}
        {isWritable && (
          <span
            class="connect"
            role="img"
            aria-label={t('Drag from step {number} to the step that comes next', { number })}
            draggable
            onDragStart={(event) => event.dataTransfer?.setData(STEP, String(step.id))}
          >
            {t('Drag to connect')}
          </span>
        )}
      </div>
      <TextField
        label={t('Step {number}', { number })}
        value={step.name}
        onChange={(name) => onChange({ name })}
        required
        isFirst={step.id < 0 && step.name === ''}
      />
      <div class="pair">
        <AreaField
          label={t('What it does in step {number}', { number })}
          value={step.instructions}
          onChange={(instructions) => onChange({ instructions })}
          rows={2}
          required={false}
        />
        <AreaField
          label={t('Step {number} is done when', { number })}
          value={step.submitWhen}
          onChange={(submitWhen) => onChange({ submitWhen })}
          rows={2}
          required={false}
        />
      </div>
      <div class="field-row">
        <SelectField
          label={t('After step {number}', { number })}
          value={step.next === null ? '' : String(step.next)}
          options={[
            { value: '', name: t('The task is completed') },
            ...steps.map((one) => ({ value: String(one.id), name: named(one) })),
          ]}
          onChange={(next) => onChange({ next: next === '' ? null : Number(next) })}
        />
        {isWritable && (
          <div class="actions">
            {!isFirst && (
              <Button small label={t('Begin here, with step {number}', { number })} onClick={onStart}>
                {t('Begin here')}
              </Button>
            )}
            <Button small label={t('Remove step {number}', { number })} onClick={onRemove}>
              {t('Remove')}
            </Button>
          </div>
        )}
      </div>
    </li>
  )
}
