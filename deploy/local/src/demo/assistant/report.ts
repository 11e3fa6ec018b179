import { ASSISTANT, PERSON } from './clinic.ts'
import type { AssistantDemoResult, Exchange } from './run-assistant-demo.ts'

const COLUMNS = 80
const LABEL = 10
const FIGURE = 12

/** One message of the conversation as text, 80 columns wide at most: what was said, and what was called. */
export function exchangeText({ said, answer }: Exchange): string {
  const lines = answer.turns.flatMap(({ text, calls }) => [
    ...(text === '' ? [] : block(ASSISTANT, text)),
    ...calls.flatMap(({ tool, args, result }) => [
      ...block('', `- ${tool} ${JSON.stringify(args)}`),
      ...(result === undefined
        ? []
        : block('', `  ${[result.state, result.status].join(' ').trim()}: ${result.text}`)),
    ]),
  ])
  const failure = answer.reason === undefined ? [] : block('', `${answer.state}: ${answer.reason}`)
  return [...block(PERSON, said), ...lines, ...failure, ''].join('\n')
}

/** Shows the result of the conversation: the task, its steps, and the tokens that the model took. */
export function resultText({ conversation, task, bookings }: AssistantDemoResult): string {
  const turns = conversation.flatMap(({ answer }) => answer.turns)
  const sum = (of: (turn: (typeof turns)[number]) => number) =>
    turns.reduce((total, turn) => total + of(turn), 0).toLocaleString('en-US')
  const calls = turns.flatMap((turn) => turn.calls)
  return [
    'Task',
    ...Object.entries(task?.steps ?? {}).flatMap(([step, submitted]) =>
      block(`  step ${step}`, JSON.stringify(submitted)),
    ),
    ...block('  status', task?.status ?? 'there is none'),
    '',
    'Model',
    figure('  turns', String(turns.length)),
    figure('  tools called', String(calls.length)),
    figure('  failed', String(calls.filter(({ result }) => result?.state === 'failed').length)),
    figure('  bookings asked for', String(bookings.length)),
    figure('  under keys', String(new Set(bookings).size)),
    figure(
      '  tokens in',
      sum(({ inputTokens }) => inputTokens),
    ),
    figure(
      '  tokens out',
      sum(({ outputTokens }) => outputTokens),
    ),
  ].join('\n')
}

/** True when the demo came to what it is to show. */
export function isComplete({ task, conversation }: AssistantDemoResult): boolean {
  return task?.status === 'completed' && conversation.every(({ answer }) => answer.reason === undefined)
}

const figure = (label: string, value: string): string => label.padEnd(2 * LABEL) + value.padStart(FIGURE)

/** A text beside its label, in as many lines as it takes; a word that is wider than a line is cut. */
function block(label: string, text: string): string[] {
  const indent = /^ */.exec(text)?.[0] ?? ''
  const width = COLUMNS - LABEL - indent.length
  const lines: string[] = []
  for (const word of text
    .trim()
    .split(/\s+/)
    .flatMap((one) => pieces(one, width))) {
    const last = lines.at(-1)
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map((line, at) => `${(at === 0 ? label : '').padEnd(LABEL)}${indent}${line}`)
}

function pieces(word: string, width: number): string[] {
  return Array.from({ length: Math.ceil(word.length / width) }, (_, at) =>
    word.slice(at * width, (at + 1) * width),
  )
}
