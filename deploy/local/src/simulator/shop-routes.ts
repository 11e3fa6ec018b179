import { Router } from 'express'

const STATES = ['packed', 'on its way', 'at the depot', 'delivered'] as const
const CARRIER = 'Verde Post'

/** A made-up shop, so that an assistant has something to call: its orders, which are the same at every start. */
export function shopRoutes(): Router {
  const router = Router()
  router.get('/orders/:id', (req, res) => void res.json(orderNo(req.params.id)))
  router.post('/orders/:id/refund', (req, res) => {
    res.status(201).json({ refund: `R-${req.params.id}`, state: 'paid back in three days' })
  })
  return router
}

function orderNo(id: string): object {
  const sum = [...id].reduce((total, character) => total + (character.codePointAt(0) ?? 0), 0)
  return { order: id, state: STATES[sum % STATES.length], carrier: CARRIER, parcels: 1 + (sum % 2) }
}
