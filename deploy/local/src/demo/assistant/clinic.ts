import { configOf, SIMULATED, type SimulatedNumber } from '../../simulator/client.ts'

/** The channel that people write to. */
export const CLINIC_LINE = 'clinic-line'
export const PERSON = 'Joana'
/** The assistant's name. */
export const ASSISTANT = 'Ana'
export const WORKFLOW = 'Appointment'

/** Where the clinic's own system is, and the number that people write to. */
interface Places {
  diaryUrl: string
  number: SimulatedNumber
}

/**
 * The configuration of a workspace for an assistant of a clinic, which leads people to an appointment in three steps and works
 * with the clinic's diary: resource, id and document.
 */
export function clinicDocuments({ diaryUrl, number }: Places): [string, number, object][] {
  return [
    ['actions', 1, diaryAction(diaryUrl)],
    ['steps', 1, FIND_A_TIME],
    ['steps', 2, ASK_THE_NAME],
    ['steps', 3, BOOK],
    ['workflows', 1, { name: WORKFLOW, description: 'Book an appointment', steps: [1, 2, 3], firstStep: 1 }],
    ['jobs', 1, RECEPTION],
    ['assistant', 1, RECEPTIONIST],
    ['channels', 1, clinicChannel(number)],
  ]
}

const FIND_A_TIME = {
  name: 'Find a time',
  description: '',
  instructions: 'Ask for the day, look the free times up, and offer them.',
  submitWhen: 'the person has chosen a time',
  next: 2,
}
const ASK_THE_NAME = {
  name: 'Ask the name',
  description: '',
  instructions: 'Ask who comes.',
  submitWhen: 'the person has said who comes',
  next: 3,
}
const BOOK = {
  name: 'Book',
  description: '',
  instructions: 'Book it. Where the diary fails, try once more.',
  submitWhen: 'the appointment is booked',
}
const RECEPTION = {
  role: 'Receptionist',
  goal: 'Everybody who writes gets an appointment',
  description: '',
  defaultWorkflow: 1,
}
const RECEPTIONIST = {
  name: ASSISTANT,
  description: 'The receptionist of a dental clinic',
  backstory: 'You are friendly and brief.',
  job: 1,
  actions: [1],
}

const clinicChannel = (number: SimulatedNumber): object => ({
  name: 'Clinic',
  description: 'Appointments',
  extId: CLINIC_LINE,
  hook: SIMULATED.name,
  callback: SIMULATED.name,
  handlerUrl: 'native:agents/taskManager',
  config: { ...configOf(number), assistantId: 1, shareWithModel: ['name', 'phone'] },
})

function diaryAction(diaryUrl: string): object {
  return {
    name: 'Diary',
    description: "The clinic's diary",
    specType: 'openapi3-yaml',
    moduleUrl: 'native:request',
    spec: `openapi: 3.0.3
info: { title: Diary, version: '1' }
servers: [{ url: '${diaryUrl}' }]
paths:
  /free:
    get:
      operationId: freeTimes
      description: The free times of a day
      parameters:
        - { name: day, in: query, required: true, schema: { type: string } }
      responses: { '200': { description: The times } }
  /appointments:
    post:
      operationId: bookAppointment
      description: Books an appointment
      parameters:
        - { name: Idempotency-Key, in: header, schema: { type: string } }
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [day, time, name]
              properties:
                day: { type: string }
                time: { type: string }
                name: { type: string }
      responses: { '201': { description: It is booked } }
`,
  }
}
