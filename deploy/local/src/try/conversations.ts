import type { ScriptedExchange } from '../demo/assistant/conversation.ts'
import { WORKFLOW } from './shop.ts'

/** Somebody who writes to the shop, and what the model says to that. */
export interface Conversation {
  person: string
  phone: string
  exchanges: readonly ScriptedExchange[]
}

const readOrder = (id: string) => ({ calls: [{ name: 'readOrder', arguments: { id } }] })
const submit = (what: object) => ({ calls: [{ name: 'submit', arguments: what }] })
const complain = { calls: [{ name: 'createTask', arguments: { workflowName: WORKFLOW } }] }

/** The conversations of the shop. The last person waits for one of the team. */
export const CONVERSATIONS: readonly Conversation[] = [
  {
    person: 'João Lima',
    phone: '5511988887701',
    exchanges: [
      {
        said: 'Hi! Where is my order 4711?',
        responses: [
          readOrder('4711'),
          { text: 'Hello João! It is *on its way* and arrives tomorrow before noon.' },
        ],
      },
      { said: 'Perfect, thank you!', responses: [{ text: 'You’re welcome. Enjoy your monstera! 🌿' }] },
    ],
  },
  {
    person: 'Carla Dias',
    phone: '5511988887702',
    exchanges: [
      {
        said: 'My fern arrived with broken leaves.',
        responses: [complain, { text: 'Oh no, I’m sorry! Which order was it?' }],
      },
      {
        said: 'It was 4720',
        responses: [
          readOrder('4720'),
          submit({ order: '4720' }),
          { text: 'Thank you, I have it. What do the leaves look like?' },
        ],
      },
      {
        said: 'Three of them are snapped off at the stem.',
        responses: [
          submit({ problem: 'three leaves snapped off' }),
          { text: 'Would you like a *new fern*, or your *money back*?' },
        ],
      },
    ],
  },
  {
    person: 'Rafael Melo',
    phone: '5511988887703',
    exchanges: [
      {
        said: 'How often do I water a calathea?',
        responses: [
          { text: 'Once the top of the soil is dry: about *twice a week* in summer, once in winter.' },
        ],
      },
      {
        said: 'And does it like sun?',
        responses: [{ text: 'Rather not. Bright, but never in direct sun.' }],
      },
    ],
  },
  {
    person: 'Lucía Pérez',
    phone: '34600111204',
    exchanges: [
      {
        said: 'I want my money back for 4733, please.',
        responses: [
          { calls: [{ name: 'refundOrder', arguments: { id: '4733' } }] },
          { text: 'Done, Lucía: it is paid back within three days.' },
        ],
      },
    ],
  },
  {
    person: 'Tom Baker',
    phone: '447700900105',
    exchanges: [
      {
        said: 'Do you deliver to the UK?',
        responses: [{ text: 'We do, within five days. Is there a plant that you have in mind?' }],
      },
      {
        said: 'An olive tree, about 2 m tall',
        responses: [{ text: 'Lovely. We have two of that size in stock.' }],
      },
    ],
  },
  {
    person: 'Marta Nunes',
    phone: '351910000106',
    exchanges: [
      {
        said: 'I have written three times now. Can I talk to a person?',
        responses: [
          {
            text: 'Of course, Marta. Somebody of the team answers you in a moment.',
            calls: [{ name: 'handOff', arguments: { reason: 'She asked for a person' } }],
          },
        ],
      },
      { said: 'My olive tree has lost all its leaves.', responses: [] },
      { said: 'Is anybody there?', responses: [] },
    ],
  },
]
