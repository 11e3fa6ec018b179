import { VERSION, VERSION_ENDS } from './api.ts'
import { CODES } from './codes.ts'
import { WEBHOOK_FIELDS } from './fields.ts'
import { CHOICES, LIMITS } from './interactive.ts'
import { MESSAGE_TYPES } from './message-types.ts'
import { rates, THROUGHPUT } from './rates.ts'
import { TEMPLATE_BUTTONS, TEMPLATE_PARTS } from './template-components.ts'

/** Each is a table with its heading. */
const SECTIONS: readonly (() => string)[] = [fields, types, said, templates, throughput, versions, codes]

/** The page of what WhatsApp sends and says, as Markdown. */
export function renderPage(): string {
  return `# WhatsApp: what comes, what goes, and what its codes mean

Written by \`npm run docs\` from \`shared/src/providers/whatsapp\`. How messages come in is in [intake](intake.md), how
more than a text is said in [handlers](handlers.md#more-than-a-text).

${SECTIONS.map((section) => section()).join('\n')}`
}

function fields(): string {
  const entries = Object.entries(WEBHOOK_FIELDS)
  const named = entries.flatMap(([field, entry]) =>
    entry.fate === 'kept'
      ? []
      : [[`\`${field}\``, entry.about, entry.fate === 'taken' ? 'taken' : `counted: ${entry.reason}`]],
  )
  const notices = entries.flatMap(([field, { fate }]) => (fate === 'kept' ? [`\`${field}\``] : []))
  return `## Fields of the webhook

*Taken* becomes messages and statuses. *Counted* counts in \`skipped\`.

${table(['field', 'what comes', 'fate'], named)}
Any other field is a notice of the channel: on its page of the console, at \`GET /rest/channels/{id}/notices\`, and an event
\`channel.notice\`. [Meta has](https://developers.facebook.com/docs/whatsapp/cloud-api/webhooks/reference)
${notices.join(', ')}.
`
}

function types(): string {
  const entries = Object.entries(MESSAGE_TYPES)
  const speech = entries.filter(([, { nature }]) => nature === 'speech').map(([type]) => `\`${type}\``)
  const rows = entries.flatMap(([type, of]) =>
    of.nature === 'speech' ? [] : [[`\`${type}\``, of.description, of.nature]],
  )
  return `## Types of messages

*Speech* asks a handler or an assistant ([what a model reads of it](assistants.md#what-people-send)): ${speech.join(', ')}. A *change* is
made in an earlier message, a *notice* is shown, and [neither asks anybody](threads.md#what-is-no-speech). Behind a slash is the type inside
of the message. Other types are notices.

${table(['type', 'what it is', 'nature'], rows)}`
}

function said(): string {
  const rows = [
    [
      'buttons',
      `${CHOICES.buttons}`,
      `titles of ${LIMITS.buttonTitle}, a message of ${LIMITS.bodyWithButtons}`,
    ],
    [
      'a list',
      `${CHOICES.rows} rows in all`,
      `titles of ${LIMITS.rowTitle}, descriptions of ${LIMITS.rowDescription}, sections of ${LIMITS.sectionTitle}, a \`button\` of ${LIMITS.buttonTitle}, a message of ${LIMITS.bodyWithList}`,
    ],
    ['`header` and `footer`', '1', `${LIMITS.header} and ${LIMITS.footer}`],
    ['a caption of an image, a video or a document', '1', `${LIMITS.caption}`],
  ]
  return `## What is said beside texts

${table(['what', 'how many', 'characters'], rows)}`
}

function templates(): string {
  const parts = [
    ...Object.entries(TEMPLATE_PARTS),
    ...Object.entries(TEMPLATE_BUTTONS).map(([name, types]) => [`button ${name}`, types] as const),
  ]
  const coded = (names: Iterable<string>) => [...names].map((name) => `\`${name}\``).join(', ')
  const rows = Map.groupBy(parts, ([, types]) => coded(types))
    .entries()
    .map(([types, alike]) => [coded(alike.map(([part]) => part)), types])
    .toArray()
  return `## Parts of templates

A carousel has cards with a header, a body and buttons.

${table(['component', 'parameters'], rows)}`
}

function throughput(): string {
  const { coexistence, standard, high } = THROUGHPUT
  const person =
    rates.person === undefined
      ? ''
      : `one each ${rates.person.intervalMs / 1_000} s, after ${rates.person.burst} at once`
  return `## Rates

Messages in and out of a number. Parley stays a little below.

${table(
  ['what', 'how many'],
  [
    ['a number that is used in the WhatsApp Business app, too', `${coexistence} a second`],
    ['any other number', `${standard} a second`],
    ['one with higher throughput', `${high} a second`],
    ['a number to one person', person],
  ],
)}`
}

function versions(): string {
  const ends = Object.entries(VERSION_ENDS).flatMap(([version, end]) =>
    end === undefined ? [] : [`${version} ${end}`],
  )
  return `## Versions of the Graph API

\`GET /rest/check\` names a channel six months before its version ends (\`ending_soon\`). The default is ${VERSION}. They end:
${ends.join(', ')}.
`
}

function codes(): string {
  const rows = Object.entries(CODES).map(([code, { meaning, retry, fault, advice = '' }]) => [
    code,
    meaning,
    retry === undefined ? (fault ?? 'channel') : [retryText(retry), ...(fault ? [fault] : [])].join(', '),
    advice,
  ])
  return `## Error codes

The same in a response and in a later status \`failed\`. What is tried again, [with growing pauses](failures.md#endpoints-and-providers), is the
\`provider\`'s \`fault\` once it is given up; \`recipient\` is the person's own choice. Other codes are the channel's fault.

${table(['code', 'what went wrong', 'tried again, or whose fault', 'what to do'], rows)}`
}

function retryText(retry: 'soon' | number): string {
  return retry === 'soon' ? 'soon' : `after ${retry / 3_600} h`
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |\n`
  return [head, head.map(() => '---'), ...rows].map(line).join('')
}
