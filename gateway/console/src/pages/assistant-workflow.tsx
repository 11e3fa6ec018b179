import { Button } from '../components/actions.tsx'
import { Badge, Card } from '../components/basics.tsx'
import { AreaField, SelectField, TextField } from '../components/fields.tsx'
import { may } from '../rights.ts'
import { reachedSteps, type StepForm, type WorkflowForm } from '../setup/setup-form.ts'

const STEP = 'application/x-parley-step'
const NEW_WORKFLOW = -500_000

interface Props {
  workflow: WorkflowForm | null
  onChange(workflow: WorkflowForm): void
}

/** The steps that a task goes through: each a card, connected by dragging one to another, or by choosing what comes next. */
export function AssistantWorkflow({ workflow, onChange }: Props) {
  const isWritable = may('write', 'steps') && may('write', 'workflows') && may('write', 'jobs')
  const steps = workflow?.steps ?? []
  const reached = workflow === null ? new Set<number>() : reachedSteps(workflow)
  const add = () => {
    const id = Math.min(0, ...steps.map((step) => step.id)) - 1
    const last = steps.at(-1)
    const before = steps.map((step) => (step === last && step.next === null ? { ...step, next: id } : step))
    const step: StepForm = { id, name: '', instructions: '', submitWhen: '', next: null }
    onChange({
      ...(workflow ?? { id: NEW_WORKFLOW, name: 'Workflow', instructions: '', first: id }),
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
    <Card title="Workflow" note="What it does step by step. Without steps it only talks and uses its tools.">
      <fieldset class="plain" disabled={!isWritable}>
        {workflow !== null && steps.length > 0 && (
          <TextField
            label="Name of the workflow"
            value={workflow.name}
            onChange={(name) => onChange({ ...workflow, name })}
            required
          />
        )}
        <ol class="step-cards">
          {steps.map((step, at) => (
            <StepCard
              key={step.id}
              {...{ step, steps, number: at + 1, isReached: reached.has(step.id) }}
              isFirst={workflow?.first === step.id}
              onStart={() => workflow !== null && onChange({ ...workflow, first: step.id })}
              onChange={(part) => change(step.id, part)}
              onConnect={(from) => change(from, { next: step.id })}
              onRemove={() => remove(step)}
            />
          ))}
        </ol>
        <Button onClick={add}>Add a step</Button>
      </fieldset>
    </Card>
  )
}

interface StepProps {
  step: StepForm
  steps: readonly StepForm[]
  number: number
  isFirst: boolean
  isReached: boolean
  onStart(): void
  onChange(part: Partial<StepForm>): void
  /** The step of this id leads here. */
  onConnect(from: number): void
  onRemove(): void
}

function StepCard(props: StepProps) {
  const { step, steps, number, isFirst, isReached, onStart, onChange, onConnect, onRemove } = props
  const named = (one: StepForm): string => one.name || 'Without a name'
  const drop = (event: DragEvent) => {
    const from = Number(event.dataTransfer?.getData(STEP) || Number.NaN)
    if (!Number.isSafeInteger(from)) return
    event.preventDefault()
    onConnect(from)
  }
  return (
    <li
      class={isReached ? 'step-card' : 'step-card unreachable'}
      onDragOver={(event) => event.dataTransfer?.types.includes(STEP) && event.preventDefault()}
      onDrop={drop}
    >
      <div class="line">
        <span class="node-number">{number}</span>
        {isFirst && <Badge tone="info">first</Badge>}
        {!isReached && <Badge tone="warn">not reached</Badge>}
        <span
          class="connect"
          role="img"
          aria-label={`Drag from step ${number} to the step that comes next`}
          draggable
          onDragStart={(event) => event.dataTransfer?.setData(STEP, String(step.id))}
        >
          Drag to connect
        </span>
      </div>
      <TextField
        label={`Step ${number}`}
        value={step.name}
        onChange={(name) => onChange({ name })}
        required
      />
      <div class="columns">
        <AreaField
          label={`What it does in step ${number}`}
          value={step.instructions}
          onChange={(instructions) => onChange({ instructions })}
          rows={2}
          required={false}
        />
        <AreaField
          label={`Step ${number} is done when`}
          value={step.submitWhen}
          onChange={(submitWhen) => onChange({ submitWhen })}
          rows={2}
          required={false}
        />
      </div>
      <SelectField
        label={`After step ${number}`}
        value={step.next === null ? '' : String(step.next)}
        options={[
          { value: '', name: 'The task is completed' },
          ...steps.map((one) => ({ value: String(one.id), name: named(one) })),
        ]}
        onChange={(next) => onChange({ next: next === '' ? null : Number(next) })}
      />
      <div class="actions">
        {!isFirst && (
          <Button small label={`Begin with step ${number}`} onClick={onStart}>
            Begin with it
          </Button>
        )}
        <Button small label={`Take out step ${number}`} onClick={onRemove}>
          Take it out
        </Button>
      </div>
    </li>
  )
}
