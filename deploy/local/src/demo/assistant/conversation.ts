import { WORKFLOW } from './clinic.ts'

interface Exchange {
  /** What the person writes. */
  said: string
  /** What the model replies, turn after turn. */
  replies: { text?: string; calls?: { name: string; arguments: object }[] }[]
}

const APPOINTMENT = { day: 'Friday', time: '14:30', name: 'Joana Prado' }
const book = { name: 'bookAppointment', arguments: APPOINTMENT }
const submit = (what: object) => ({ name: 'submit', arguments: what })

/** The conversation of the demo: through three steps, with two functions, the second of which fails once. */
export const CONVERSATION: readonly Exchange[] = [
  {
    said: 'Hello! I need to see a dentist.',
    replies: [
      { calls: [{ name: 'createTask', arguments: { workflowName: WORKFLOW } }] },
      { text: 'Hello Joana, of course. Which day would suit you?' },
    ],
  },
  {
    said: 'Friday, if there is anything free.',
    replies: [
      { calls: [{ name: 'freeTimes', arguments: { day: 'Friday' } }] },
      { text: 'On Friday there is *09:00* and *14:30*.' },
    ],
  },
  {
    said: 'Half past two is fine.',
    replies: [{ calls: [submit({ day: 'Friday', time: '14:30' })] }, { text: 'And who comes?' }],
  },
  {
    said: 'It is for me, Joana Prado.',
    replies: [
      { text: 'Thank you, one moment.', calls: [submit({ name: 'Joana Prado' })] },
      { calls: [book] },
      { calls: [book] },
      { calls: [submit({ appointment: 17 })] },
      { text: 'It is booked: Friday at *14:30*. See you then!' },
    ],
  },
]

/**
 * The same for the model simulator (`PUT /simulator/script`): each answer is for what the person wrote last, in a
 * conversation in which `mark` stands somewhere.
 */
export function scriptOf(conversation: readonly Exchange[], mark: string): object {
  const responses = conversation.flatMap(({ said, replies }) =>
    replies.map((answer) => ({ when: { lastUserText: said, text: mark }, ...answer })),
  )
  return { responses }
}
