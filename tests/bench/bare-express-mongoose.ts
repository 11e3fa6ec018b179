import express from 'express'
import mongoose from 'mongoose'

/** The baseline of a service, without tokens, permissions, validation of content, versions and history. */
await mongoose.connect(String(process.env.MONGO_URL), {
  dbName: String(process.env.MONGO_DATABASE),
  w: 'majority',
})
const text = { type: String, required: true }
const task = new mongoose.Schema(
  {
    _id: Number,
    workflow: { type: Number, required: true },
    currentStep: { type: Number, required: true },
    status: { type: String, enum: ['active', 'pending', 'failed'], required: true },
    name: text,
    description: text,
    extId: String,
    context: Object,
  },
  { timestamps: true },
)
const Task = mongoose.model('Task', task)
await Task.init()
let last = 0

const app = express()
app.use(express.json({ limit: '4mb' }))
app.post('/rest/tasks', async (req, res) => {
  res.json(await Task.create({ ...req.body, _id: ++last }))
})
app.put('/rest/tasks/:id', async (req, res) => {
  const _id = Number(req.params.id)
  res.json(await Task.findOneAndReplace({ _id }, req.body, { upsert: true, returnDocument: 'after' }))
})
app.get('/rest/tasks/:id', async (req, res) => {
  res.json(await Task.findById(Number(req.params.id)))
})
app.get('/rest/tasks', async (_req, res) => {
  res.json({ data: await Task.find().sort({ _id: 1 }).limit(50) })
})
app.listen(Number(process.env.PORT), '127.0.0.1')
