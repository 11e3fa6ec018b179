import { z } from 'zod'
import type { Resource } from '../src/render.ts'

/** As the kubelet fills it in. */
const POD_NAME = 'parley-6d5f7c9b8d-x2x4z'
const podName = z
  .strictObject({
    name: z.string(),
    valueFrom: z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.literal('metadata.name') }) }),
  })
  .transform(({ name }) => ({ name, value: POD_NAME }))

const podSpec = z.looseObject({
  containers: z.array(
    z.looseObject({
      args: z.array(z.string()),
      env: z.array(z.union([z.strictObject({ name: z.string(), value: z.string() }), podName])),
      volumeMounts: z.array(z.looseObject({ mountPath: z.string() })),
    }),
  ),
  volumes: z.array(
    z.looseObject({
      name: z.string(),
      projected: z
        .looseObject({
          sources: z.array(
            z.object({
              secret: z.object({
                name: z.string(),
                items: z.array(z.object({ key: z.string(), path: z.string() })),
              }),
            }),
          ),
        })
        .optional(),
    }),
  ),
})
type PodSpec = z.output<typeof podSpec>

const withTemplate = z.object({ template: z.object({ spec: podSpec }) })
const workload = z.object({
  spec: z.union([
    withTemplate.transform(({ template }) => template.spec),
    z
      .object({ jobTemplate: z.object({ spec: withTemplate }) })
      .transform(({ jobTemplate }) => jobTemplate.spec.template.spec),
  ]),
})

/** The spec of the pods that a resource makes: one, or none. Throws when a workload's is not as the chart makes it. */
export function podSpecsIn(resource: Resource): PodSpec[] {
  if (!['Deployment', 'Job', 'CronJob'].includes(resource.kind)) return []
  return [workload.parse(resource).spec]
}
