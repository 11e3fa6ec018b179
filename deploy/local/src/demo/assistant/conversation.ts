import { WORKFLOW } from './clinic.ts'

/** One thing that a person says, and the model's responses to it. */
interface ScriptedExchange {
  /** The person's text. */
  said: string
  /** The model's responses, turn after turn. */
  responses: { text?: string; calls?: { name: string; arguments: object }[] }[]
}

const APPOINTMENT = { day: 'Friday', time: '14:30', name: 'Joana Prado' }
const book = { name: 'bookAppointment', arguments: APPOINTMENT }
const submit = (what: object) => ({ name: 'submit', arguments: what })

/** The conversation of the demo: through three steps, with two functions; the second call is made twice, under one key. */
export const CONVERSATION: readonly ScriptedExchange[] = [
  {
    said: 'Hello! I need to see a dentist.',
    responses: [
      { calls: [{ name: 'createTask', arguments: { workflowName: WORKFLOW } }] },
      { text: 'Hello Joana, of course. Which day would suit you?' },
    ],
  },
  {
    said: 'Friday, if there is anything free.',
    responses: [
      { calls: [{ name: 'freeTimes', arguments: { day: 'Friday' } }] },
      { text: 'On Friday there is *09:00* and *14:30*.' },
    ],
  },
  {
    said: 'Half past two is fine.',
    responses: [{ calls: [submit({ day: 'Friday', time: '14:30' })] }, { text: 'And who comes?' }],
  },
  {
    said: 'It is for me, Joana Prado.',
    responses: [
      { text: 'Thank you, one moment.', calls: [submit({ name: 'Joana Prado' })] },
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
export function scriptOf(conversation: readonly ScriptedExchange[], mark: string): { responses: object[] } {
  const all = conversation.flatMap(({ said, responses }) =>
    responses.map((one) => ({ when: { lastUserText: said, text: mark }, ...one })),
  )
  return { responses: all }
}
