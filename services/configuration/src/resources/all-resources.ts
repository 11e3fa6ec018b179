import { action } from './action.ts'
import { assistant } from './assistant.ts'
import { channel } from './channel.ts'
import { config } from './config.ts'
import { RESOURCES, type ResourceDefinition, type ResourceName } from './definition.ts'
import { job } from './job.ts'
import { step } from './step.ts'
import { subscription } from './subscription.ts'
import { task } from './task.ts'
import { workflow } from './workflow.ts'

/** Every resource by its name; the compiler sees to it that none is missing. */
export const definitions: Readonly<Record<ResourceName, ResourceDefinition>> = {
  channels: channel,
  tasks: task,
  steps: step,
  assistant,
  configs: config,
  actions: action,
  jobs: job,
  workflows: workflow,
  subscriptions: subscription,
}

/** Every resource in the order of {@link RESOURCES}. */
export const allResources: readonly ResourceDefinition[] = RESOURCES.map((name) => definitions[name])
