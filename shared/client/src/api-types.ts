// Written by `npm run docs` from docs/openapi.json.
export interface paths {
    "/api/auth/register": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["register"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/login": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["login"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/refresh": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["refresh"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/accept-invitation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["acceptInvitation"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/me": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["me"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/password": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["changePassword"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/logout": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["logout"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/jwks.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readSigningKeys"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listApiTokens"];
        put?: never;
        post: operations["createApiToken"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/auth/tokens/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["deleteApiToken"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/users": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listUsers"];
        put?: never;
        post: operations["createUser"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/users/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readUser"];
        put?: never;
        post?: never;
        delete: operations["deleteUser"];
        options?: never;
        head?: never;
        patch: operations["changeUser"];
        trace?: never;
    };
    "/rest/invitations": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listInvitations"];
        put?: never;
        post: operations["invite"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/invitations/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        delete: operations["withdrawInvitation"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/roles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listRoles"];
        put?: never;
        post: operations["createRole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/roles/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readRole"];
        put: operations["putRole"];
        post?: never;
        delete: operations["deleteRole"];
        options?: never;
        head?: never;
        patch: operations["patchRole"];
        trace?: never;
    };
    "/rest/roles/{id}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["explainRole"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/workspaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWorkspaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/workspaces/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readWorkspace"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch: operations["changeWorkspace"];
        trace?: never;
    };
    "/rest/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listAuditEntries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/channels": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listChannels"];
        put?: never;
        post: operations["createChannel"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/channels/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readChannel"];
        put: operations["putChannel"];
        post?: never;
        delete: operations["deleteChannel"];
        options?: never;
        head?: never;
        patch: operations["patchChannel"];
        trace?: never;
    };
    "/rest/channels/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readChannelHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/tasks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listTasks"];
        put?: never;
        post: operations["createTask"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/tasks/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readTask"];
        put: operations["putTask"];
        post?: never;
        delete: operations["deleteTask"];
        options?: never;
        head?: never;
        patch: operations["patchTask"];
        trace?: never;
    };
    "/rest/tasks/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readTaskHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/steps": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSteps"];
        put?: never;
        post: operations["createStep"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/steps/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readStep"];
        put: operations["putStep"];
        post?: never;
        delete: operations["deleteStep"];
        options?: never;
        head?: never;
        patch: operations["patchStep"];
        trace?: never;
    };
    "/rest/steps/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readStepHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/assistant": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listAssistant"];
        put?: never;
        post: operations["createAssistant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/assistant/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readAssistant"];
        put: operations["putAssistant"];
        post?: never;
        delete: operations["deleteAssistant"];
        options?: never;
        head?: never;
        patch: operations["patchAssistant"];
        trace?: never;
    };
    "/rest/assistant/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readAssistantHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/configs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listConfigs"];
        put?: never;
        post: operations["createConfig"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/configs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readConfig"];
        put: operations["putConfig"];
        post?: never;
        delete: operations["deleteConfig"];
        options?: never;
        head?: never;
        patch: operations["patchConfig"];
        trace?: never;
    };
    "/rest/configs/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readConfigHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listActions"];
        put?: never;
        post: operations["createAction"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/actions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readAction"];
        put: operations["putAction"];
        post?: never;
        delete: operations["deleteAction"];
        options?: never;
        head?: never;
        patch: operations["patchAction"];
        trace?: never;
    };
    "/rest/actions/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readActionHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/jobs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listJobs"];
        put?: never;
        post: operations["createJob"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/jobs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readJob"];
        put: operations["putJob"];
        post?: never;
        delete: operations["deleteJob"];
        options?: never;
        head?: never;
        patch: operations["patchJob"];
        trace?: never;
    };
    "/rest/jobs/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readJobHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/workflows": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listWorkflows"];
        put?: never;
        post: operations["createWorkflow"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/workflows/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readWorkflow"];
        put: operations["putWorkflow"];
        post?: never;
        delete: operations["deleteWorkflow"];
        options?: never;
        head?: never;
        patch: operations["patchWorkflow"];
        trace?: never;
    };
    "/rest/workflows/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readWorkflowHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listSubscriptions"];
        put?: never;
        post: operations["createSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readSubscription"];
        put: operations["putSubscription"];
        post?: never;
        delete: operations["deleteSubscription"];
        options?: never;
        head?: never;
        patch: operations["patchSubscription"];
        trace?: never;
    };
    "/rest/subscriptions/{id}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readSubscriptionHistory"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/check": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["checkConfiguration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["exportConfiguration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/import": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["importConfiguration"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/whatsapp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["postMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/hooks/whatsapp/{slug}/{channelExtId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["verifyWebhook"];
        put?: never;
        post: operations["receiveFromMeta"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/hooks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listHooks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/asyncapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readAsyncApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listMessages"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readMessage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/{id}/audio": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readAudio"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/{id}/media": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readMedia"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["replayMessages"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["replayMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/traffic": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readTraffic"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/waiting": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readWaiting"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/messages/conservation": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readConservation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/assistant/{id}/prompt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["showPrompt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/assistant/{id}/try": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["tryAssistant"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions/{id}/deliveries": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listDeliveries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions/{id}/deliveries/{delivery}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readDelivery"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions/{id}/deliveries/{delivery}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["replayDelivery"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions/{id}/replay": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["replayDeliveries"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/subscriptions/{id}/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post: operations["testSubscription"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["followEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/threads/{extId}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["followThread"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/threads": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["listThreads"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/rest/threads/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readThread"];
        put?: never;
        post?: never;
        delete: operations["eraseThread"];
        options?: never;
        head?: never;
        patch: operations["changeThread"];
        trace?: never;
    };
    "/rest/threads/{id}/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readConversation"];
        put?: never;
        post: operations["replyInThread"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["isLive"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/health/ready": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["isReady"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readOpenApi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi-3.0.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readOpenApi30"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/docs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get: operations["readDocs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AcceptedInvitation: {
            _id: number;
            provider: string;
            username: string;
            name: string;
            phone: string;
            profile: number;
            workspace: number;
            role: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            context: {
                [key: string]: unknown;
            };
            accessToken: string;
            /** Format: date-time */
            expiresAt: string;
            /** @constant */
            tokenType: "Bearer";
            refreshToken: string;
        };
        Action: {
            _id: number;
            name: string;
            description: string;
            specType: string;
            /** Format: uri */
            moduleUrl: string;
            spec: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ActionBody: {
            name: string;
            description: string;
            specType: string;
            /** Format: uri */
            moduleUrl: string;
            spec: string;
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        ActionPage: {
            data: components["schemas"]["Action"][];
            next: string | null;
        };
        ActionPatch: {
            name?: string | null;
            description?: string | null;
            specType?: string | null;
            moduleUrl?: string | null;
            spec?: string | null;
        };
        AnyDocument: {
            _id: number;
        } & {
            [key: string]: unknown;
        };
        ApiToken: {
            _id: number;
            name: string;
            role: number;
            account: number;
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            lastUsedAt: string | null;
        };
        ApiTokenBody: {
            name: string;
            role: number | string;
            expiresInDays?: number | null;
            currentPassword?: string | null;
        };
        ApiTokenPage: {
            data: components["schemas"]["ApiToken"][];
            next: string | null;
        };
        Assistant: {
            _id: number;
            name: string;
            description: string;
            backstory: string;
            actions?: number[] | null;
            configs?: number[] | null;
            job?: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        AssistantBody: {
            name: string;
            description: string;
            backstory: string;
            actions?: number[] | null;
            configs?: number[] | null;
            job?: number | null;
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        AssistantPage: {
            data: components["schemas"]["AssistantRead"][];
            next: string | null;
        };
        AssistantPatch: {
            name?: string | null;
            description?: string | null;
            backstory?: string | null;
            actions?: (number[] | null) | null;
            configs?: (number[] | null) | null;
            job?: (number | null) | null;
        };
        AssistantRead: {
            _id: number;
            name: string;
            description: string;
            backstory: string;
            actions?: (number | components["schemas"]["Action"])[] | null;
            configs?: (number | components["schemas"]["Config"])[] | null;
            job?: (number | components["schemas"]["Job"]) | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        AsyncApi: {
            asyncapi: string;
        } & {
            [key: string]: unknown;
        };
        AuditEntry: {
            _id: number;
            /** Format: date-time */
            at: string;
            account: number;
            token?: number;
            action: string;
            resource: string;
            document: number;
            details: {
                [key: string]: unknown;
            };
        };
        AuditEntryPage: {
            data: components["schemas"]["AuditEntry"][];
            next: string | null;
        };
        Channel: {
            _id: number;
            name: string;
            description: string;
            extId: string;
            /** @enum {string} */
            hook: "rpc" | "whatsapp";
            /** @enum {string} */
            callback: "rpc" | "whatsapp";
            /** Format: uri */
            handlerUrl: string;
            config: {
                assistantId?: number | null;
                streamResponseBy?: string | null;
                maxTurns?: number | null;
                turnTimeoutSeconds?: number | null;
                messageTimeoutSeconds?: number | null;
                gatherMs?: number | null;
                historyTokens?: number | null;
                historyLimit?: number | null;
                dailyTokens?: number | null;
                fallbackMessage?: string | null;
                handOffUrl?: string | null;
                handlerTimeoutSeconds?: number | null;
                handlerContext?: boolean | null;
                typing?: boolean | null;
            } & {
                [key: string]: unknown;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ChannelBody: {
            name: string;
            description: string;
            extId: string;
            /** @enum {string} */
            hook: "rpc" | "whatsapp";
            /** @enum {string} */
            callback: "rpc" | "whatsapp";
            /** Format: uri */
            handlerUrl: string;
            config: {
                assistantId?: number | null;
                streamResponseBy?: string | null;
                maxTurns?: number | null;
                turnTimeoutSeconds?: number | null;
                messageTimeoutSeconds?: number | null;
                gatherMs?: number | null;
                historyTokens?: number | null;
                historyLimit?: number | null;
                dailyTokens?: number | null;
                fallbackMessage?: string | null;
                handOffUrl?: string | null;
                handlerTimeoutSeconds?: number | null;
                handlerContext?: boolean | null;
                typing?: boolean | null;
            } & {
                [key: string]: unknown;
            };
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        ChannelPage: {
            data: components["schemas"]["Channel"][];
            next: string | null;
        };
        ChannelPatch: {
            name?: string | null;
            description?: string | null;
            extId?: string | null;
            hook?: ("rpc" | "whatsapp") | null;
            callback?: ("rpc" | "whatsapp") | null;
            handlerUrl?: string | null;
            config?: ({
                assistantId?: number | null;
                streamResponseBy?: string | null;
                maxTurns?: number | null;
                turnTimeoutSeconds?: number | null;
                messageTimeoutSeconds?: number | null;
                gatherMs?: number | null;
                historyTokens?: number | null;
                historyLimit?: number | null;
                dailyTokens?: number | null;
                fallbackMessage?: string | null;
                handOffUrl?: string | null;
                handlerTimeoutSeconds?: number | null;
                handlerContext?: boolean | null;
                typing?: boolean | null;
            } & {
                [key: string]: unknown;
            }) | null;
        };
        Config: {
            _id: number;
            key?: string;
            name: string;
            value: {
                [key: string]: unknown;
            };
            owner: number;
            ownerType: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        ConfigBody: {
            name: string;
            value: {
                [key: string]: unknown;
            };
            owner: number;
            ownerType: string;
            _id?: unknown;
            key?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        ConfigPage: {
            data: components["schemas"]["ConfigRead"][];
            next: string | null;
        };
        ConfigPatch: {
            name?: string | null;
            value?: {
                [key: string]: unknown;
            } | null;
            owner?: number | null;
            ownerType?: string | null;
        };
        ConfigRead: {
            _id: number;
            key?: string;
            name: string;
            value: {
                [key: string]: unknown;
            };
            owner: number | components["schemas"]["AnyDocument"];
            ownerType: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Configuration: {
            /** @constant */
            version: 1;
            resources: {
                channels?: {
                    _id: number;
                    name: string;
                    description: string;
                    extId: string;
                    /** @enum {string} */
                    hook: "rpc" | "whatsapp";
                    /** @enum {string} */
                    callback: "rpc" | "whatsapp";
                    /** Format: uri */
                    handlerUrl: string;
                    config: {
                        assistantId?: number | null;
                        streamResponseBy?: string | null;
                        maxTurns?: number | null;
                        turnTimeoutSeconds?: number | null;
                        messageTimeoutSeconds?: number | null;
                        gatherMs?: number | null;
                        historyTokens?: number | null;
                        historyLimit?: number | null;
                        dailyTokens?: number | null;
                        fallbackMessage?: string | null;
                        handOffUrl?: string | null;
                        handlerTimeoutSeconds?: number | null;
                        handlerContext?: boolean | null;
                        typing?: boolean | null;
                    } & {
                        [key: string]: unknown;
                    };
                }[];
                steps?: {
                    _id: number;
                    name: string;
                    description: string;
                    instructions: string;
                    submitWhen: string;
                    job?: number | null;
                    next?: number | null;
                }[];
                assistant?: {
                    _id: number;
                    name: string;
                    description: string;
                    backstory: string;
                    actions?: number[] | null;
                    configs?: number[] | null;
                    job?: number | null;
                }[];
                configs?: {
                    _id: number;
                    key?: string | null;
                    name: string;
                    value: {
                        [key: string]: unknown;
                    };
                    owner: number;
                    ownerType: string;
                }[];
                actions?: {
                    _id: number;
                    name: string;
                    description: string;
                    specType: string;
                    /** Format: uri */
                    moduleUrl: string;
                    spec: string;
                }[];
                jobs?: {
                    _id: number;
                    role: string;
                    goal: string;
                    description: string;
                    actions?: number[] | null;
                    defaultWorkflow?: number | null;
                }[];
                workflows?: {
                    _id: number;
                    name: string;
                    description: string;
                    instructions?: string | null;
                    steps?: number[] | null;
                    firstStep?: number | null;
                }[];
                subscriptions?: {
                    _id: number;
                    name: string;
                    /** Format: uri */
                    url: string;
                    events: ("message.received" | "message.sent" | "message.delivered" | "message.read" | "message.failed" | "message.dead" | "thread.handed_off" | "thread.opened" | "task.started" | "task.step_completed" | "task.completed" | "task.failed" | "configuration.channels.created" | "configuration.channels.updated" | "configuration.channels.deleted" | "configuration.tasks.created" | "configuration.tasks.updated" | "configuration.tasks.deleted" | "configuration.steps.created" | "configuration.steps.updated" | "configuration.steps.deleted" | "configuration.assistant.created" | "configuration.assistant.updated" | "configuration.assistant.deleted" | "configuration.configs.created" | "configuration.configs.updated" | "configuration.configs.deleted" | "configuration.actions.created" | "configuration.actions.updated" | "configuration.actions.deleted" | "configuration.jobs.created" | "configuration.jobs.updated" | "configuration.jobs.deleted" | "configuration.workflows.created" | "configuration.workflows.updated" | "configuration.workflows.deleted" | "configuration.subscriptions.created" | "configuration.subscriptions.updated" | "configuration.subscriptions.deleted")[];
                    channel?: number | null;
                    active?: boolean | null;
                    signingSecret?: string | null;
                }[];
            };
        };
        ConfigurationEventData: {
            resource: string;
            _id: number;
            version: number;
            /** @enum {string} */
            operation: "created" | "updated" | "deleted";
            by?: {
                _id: number;
                username: string;
            } & {
                [key: string]: unknown;
            };
            document: {
                [key: string]: unknown;
            } | null;
        };
        Conservation: {
            accepted: number;
            done: number;
            sent: number;
            delivered: number;
            read: number;
            failed: number;
            dead: number;
            unrouted: number;
            rejected: number;
            inFlight: number;
            difference: number;
            unaudited: number;
            auditedUpTo: string | null;
            checkedSecondsAgo: number | null;
            channels: {
                channel: string;
                accepted: number;
                done: number;
                sent: number;
                delivered: number;
                read: number;
                failed: number;
                dead: number;
                unrouted: number;
                rejected: number;
                inFlight: number;
                difference: number;
                unaudited: number;
            }[];
            hours: {
                /** Format: date-time */
                hour: string;
                accepted: number;
                done: number;
                sent: number;
                delivered: number;
                read: number;
                failed: number;
                dead: number;
                unrouted: number;
                rejected: number;
                inFlight: number;
                difference: number;
                unaudited: number;
            }[];
        };
        Conversation: {
            data: components["schemas"]["ConversationEntry"][];
            previous: string | null;
            next: string | null;
        };
        ConversationEntry: {
            _id: string;
            message: string;
            /** Format: date-time */
            at: string;
            /** @enum {string} */
            from: "person" | "assistant" | "team" | "api";
            by?: {
                _id: number;
                name: string;
            } & {
                [key: string]: unknown;
            };
            text?: string;
            transcript?: string;
            media?: string;
            template?: string;
            language?: string;
            variables?: string[];
            whatsapp?: {
                [key: string]: unknown;
            };
            state: string;
            reason?: string;
        };
        Credentials: {
            username?: string | null;
            email?: string | null;
            password: string;
            namespace?: string | null;
            cookie?: boolean | null;
        };
        CurrentUser: {
            _id: number;
            provider: string;
            username: string;
            name: string;
            profile: number;
            workspace: components["schemas"]["Workspace"];
            role: components["schemas"]["Role"];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            context?: {
                [key: string]: unknown;
            } | null;
        };
        Deleted: {
            _id: number;
            /** @constant */
            deleted: true;
        };
        Delivery: {
            _id: string;
            event: string;
            record: string;
            /** @enum {string} */
            state: "pending" | "delivered" | "failed";
            attempts: {
                /** Format: date-time */
                at: string;
                ms: number;
                /** @enum {string} */
                outcome: "accepted" | "failed";
                code?: string;
            }[];
            /** Format: date-time */
            due?: string;
            reason?: string;
            /** Format: date-time */
            createdAt: string;
        };
        DeliveryDetail: {
            _id: string;
            event: string;
            record: string;
            /** @enum {string} */
            state: "pending" | "delivered" | "failed";
            attempts: {
                /** Format: date-time */
                at: string;
                ms: number;
                /** @enum {string} */
                outcome: "accepted" | "failed";
                code?: string;
            }[];
            /** Format: date-time */
            due?: string;
            reason?: string;
            /** Format: date-time */
            createdAt: string;
            payload?: {
                [key: string]: unknown;
            };
        };
        DeliveryPage: {
            data: components["schemas"]["Delivery"][];
            next: string | null;
        };
        DeliveryReplayBody: {
            /** Format: date-time */
            since: string;
            /** @enum {string} */
            state?: "delivered" | "failed";
            /** @default 10000 */
            limit: number;
        };
        Explanation: {
            result: string;
            entries: {
                entry: number;
                schema: {
                    expression: unknown;
                    reason: string;
                    column?: number;
                    applies: boolean;
                };
                read: {
                    expression: unknown;
                    reason: string;
                    column?: number;
                    /** @enum {string} */
                    grants: "none" | "some" | "all";
                };
                write: {
                    expression: unknown;
                    reason: string;
                    column?: number;
                    /** @enum {string} */
                    grants: "none" | "some" | "all";
                };
            }[];
        };
        ExplanationBody: {
            resource: string;
            id?: (number | string) | null;
            doc?: {
                [key: string]: unknown;
            } | null;
        };
        FindingPage: {
            data: {
                /** @enum {string} */
                code: "dangling_reference" | "unreachable_step" | "step_cycle" | "bad_spec" | "bad_handler" | "unknown_agent" | "incomplete_channel" | "shadowed" | "failing_subscription" | "full_subscription" | "disabled_subscription" | "not_checked";
                /** @enum {string} */
                resource: "channels" | "tasks" | "steps" | "assistant" | "configs" | "actions" | "jobs" | "workflows" | "subscriptions";
                _id: number;
                path: string;
                message: string;
            }[];
            next: string | null;
        };
        History: {
            data: {
                version: number;
                /** @enum {string} */
                operation: "created" | "updated" | "deleted";
                /** Format: date-time */
                at: string;
                by: {
                    _id: number;
                    username: string;
                };
                changes: {
                    path: string;
                    before?: unknown;
                    after?: unknown;
                }[] | null;
            }[];
            next: string | null;
        };
        Hook: {
            channel: {
                _id: number;
                name: string;
                extId: string;
                hook: string;
            };
            url: string | null;
            setup: {
                where: string;
                paste?: string;
                subscribe?: string[];
            }[];
            problems: string[];
            handshake: {
                succeeded: boolean;
                at: string | null;
            };
            lastReceivedAt: string | null;
            lastError: {
                /** Format: date-time */
                at: string;
                code: string;
                message: string;
            } | null;
            signingSecret?: {
                /** @enum {string} */
                source: "channel" | "derived";
                value?: string;
            } | null;
        };
        HookPage: {
            data: components["schemas"]["Hook"][];
            next: string | null;
        };
        ImportPlan: {
            dryRun: boolean;
            summary: {
                create: number;
                update: number;
                unchanged: number;
            };
            plan: {
                /** @enum {string} */
                resource: "channels" | "tasks" | "steps" | "assistant" | "configs" | "actions" | "jobs" | "workflows" | "subscriptions";
                _id: number;
                /** @enum {string} */
                action: "create" | "update" | "unchanged";
                changes: string[];
            }[];
        };
        Invitation: {
            _id: number;
            email: string;
            role: number;
            account: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiresAt: string;
        };
        InvitationBody: {
            /** Format: idn-email */
            email: string;
            role: number | string;
        };
        InvitationPage: {
            data: components["schemas"]["Invitation"][];
            next: string | null;
        };
        Job: {
            _id: number;
            role: string;
            goal: string;
            description: string;
            actions?: number[] | null;
            defaultWorkflow?: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        JobBody: {
            role: string;
            goal: string;
            description: string;
            actions?: number[] | null;
            defaultWorkflow?: number | null;
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        JobPage: {
            data: components["schemas"]["JobRead"][];
            next: string | null;
        };
        JobPatch: {
            role?: string | null;
            goal?: string | null;
            description?: string | null;
            actions?: (number[] | null) | null;
            defaultWorkflow?: (number | null) | null;
        };
        JobRead: {
            _id: number;
            role: string;
            goal: string;
            description: string;
            actions?: (number | components["schemas"]["Action"])[] | null;
            defaultWorkflow?: (number | components["schemas"]["Workflow"]) | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Message: {
            _id: string;
            channel: string;
            channelId?: number;
            thread: string;
            phone?: string;
            source: string;
            state: components["schemas"]["MessageState"];
            reason?: string;
            fault?: ("caller" | "channel" | "provider" | "us") | null;
            /** Format: date-time */
            due?: string;
            waitingFor?: string;
            gatheredInto?: string;
            waiting?: components["schemas"]["Waiting"];
            /** Format: date-time */
            receivedAt: string;
            /** Format: date-time */
            updatedAt: string;
            requestId: string | null;
            message: {
                extId: string;
                user: {
                    name?: string | null;
                    phone?: string | null;
                    email?: string | null;
                    ctx?: {
                        [key: string]: unknown;
                    } | null;
                } & {
                    [key: string]: unknown;
                };
                thread: {
                    extId?: string | null;
                    ctx?: {
                        [key: string]: unknown;
                    } | null;
                } & {
                    [key: string]: unknown;
                };
                answer: {
                    message?: string | null;
                    functions?: ({
                        name?: string | null;
                        args?: {
                            [key: string]: unknown;
                        } | null;
                    } & {
                        [key: string]: unknown;
                    })[] | null;
                    submit?: {
                        [key: string]: unknown;
                    } | null;
                } & {
                    [key: string]: unknown;
                };
                input?: string | null;
                audio?: string | null;
            } & {
                [key: string]: unknown;
            };
            answer?: {
                message?: string | null;
                functions?: ({
                    name?: string | null;
                    args?: {
                        [key: string]: unknown;
                    } | null;
                } & {
                    [key: string]: unknown;
                })[] | null;
                submit?: {
                    [key: string]: unknown;
                } | null;
            } & {
                [key: string]: unknown;
            };
            timeline: {
                /** Format: date-time */
                at: string;
                state: components["schemas"]["MessageState"];
                reason?: string;
            }[];
            sends: ({
                id: string;
                content: {
                    kind: string;
                } & {
                    [key: string]: unknown;
                };
                state: string;
                providerId?: string;
            } & {
                [key: string]: unknown;
            })[];
            submit?: {
                id: string;
                /** @enum {string} */
                state: "pending" | "submitted";
            };
            attempts: ({
                /** Format: date-time */
                at: string;
                step: string;
                /** @enum {string} */
                outcome: "accepted" | "retryable" | "permanent" | "uncertain";
                code?: string;
                error?: string;
                ms: number;
            } & {
                [key: string]: unknown;
            })[];
            transcript?: string;
            turns?: components["schemas"]["Turn"][];
        };
        MessagePage: {
            data: components["schemas"]["MessageSummary"][];
            next: string | null;
        };
        /** @enum {string} */
        MessageState: "received" | "handled" | "sending" | "sent" | "delivered" | "read" | "done" | "failed" | "dead" | "unrouted";
        MessageSummary: {
            _id: string;
            channel: string;
            channelId?: number;
            thread: string;
            phone?: string;
            source: string;
            state: components["schemas"]["MessageState"];
            reason?: string;
            fault?: ("caller" | "channel" | "provider" | "us") | null;
            /** Format: date-time */
            due?: string;
            waitingFor?: string;
            gatheredInto?: string;
            waiting?: components["schemas"]["Waiting"];
            /** Format: date-time */
            receivedAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        MessagesWaiting: {
            messages: number;
            more: boolean;
            groups: components["schemas"]["WaitingGroup"][];
        };
        MetaPayload: {
            object?: string;
            entry?: ({
                changes?: ({
                    value: unknown;
                } & {
                    [key: string]: unknown;
                })[];
            } & {
                [key: string]: unknown;
            })[];
        } & {
            [key: string]: unknown;
        };
        MetaReceipt: {
            accepted: number;
            repeated: number;
            skipped: number;
            foreign: number;
        };
        NewApiToken: {
            _id: number;
            name: string;
            role: number;
            account: number;
            /** Format: date-time */
            createdAt: string;
            expiresAt: string | null;
            lastUsedAt: string | null;
            token: string;
        };
        NewInvitation: {
            _id: number;
            email: string;
            role: number;
            account: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            expiresAt: string;
            token: string;
        };
        OpenApi: {
            openapi: string;
        } & {
            [key: string]: unknown;
        };
        Prompt: {
            /** @enum {string} */
            type: "chat" | "functionCall" | "taskManager";
            system: string;
            data: {
                [key: string]: unknown;
            };
        };
        PromptBody: {
            thread?: string;
            task?: number;
        };
        Readiness: {
            /** @enum {string} */
            status: "ready" | "degraded" | "not ready";
            dependencies: {
                [key: string]: "up" | "down";
            };
        };
        RegisteredUser: {
            _id: number;
            account: {
                _id: number;
                provider: string;
                username: string;
                passwordHash: string;
                salt: string;
                name: string;
                profile: number;
                /** Format: date-time */
                createdAt: string;
                /** Format: date-time */
                updatedAt: string;
                context: {
                    [key: string]: unknown;
                };
            };
            role: number;
            workspace: components["schemas"]["Workspace"];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            accessToken: string;
            /** Format: date-time */
            expiresAt: string;
        };
        Registration: {
            name: string;
            /** Format: idn-email */
            email: string;
            phone: string;
            /** Format: password */
            password: string;
            namespace: string;
        };
        ReplayBody: {
            state?: components["schemas"]["MessageState"] | components["schemas"]["MessageState"][];
            status?: components["schemas"]["MessageState"] | components["schemas"]["MessageState"][];
            channel?: string;
            thread?: string;
            phone?: string;
            user?: string;
            providerId?: string;
            requestId?: string;
            /** @enum {string} */
            fault?: "caller" | "channel" | "provider" | "us";
            /** Format: date-time */
            from?: string;
            /** Format: date-time */
            to?: string;
            /** @default 1000 */
            limit: number;
        };
        Replayed: {
            replayed: number;
            more: boolean;
        };
        ReplayedDeliveries: {
            replayed: number;
            next: string | null;
        };
        ReplayedDelivery: {
            _id: string;
            /** @constant */
            replayed: true;
        };
        Reply: components["schemas"]["ReplyText"] | components["schemas"]["ReplyTemplate"] | components["schemas"]["ReplyWhatsapp"];
        ReplyTemplate: {
            template: string;
            variables?: string[];
            language: string;
        };
        ReplyText: {
            text: string;
        };
        ReplyWhatsapp: {
            whatsapp: {
                [key: string]: unknown;
            };
        };
        Role: {
            _id: number;
            name: string;
            version: number;
            permissions: {
                schema?: string | boolean | null;
                read?: string | boolean | null;
                write?: string | boolean | null;
            }[];
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        RoleBody: {
            name: string;
            permissions: {
                schema: string | boolean | null;
                read?: string | boolean | null;
                write?: string | boolean | null;
            }[];
        };
        RolePage: {
            data: components["schemas"]["Role"][];
            next: string | null;
        };
        RolePatch: {
            name?: string;
            permissions?: {
                schema: string | boolean | null;
                read?: string | boolean | null;
                write?: string | boolean | null;
            }[];
        };
        SessionTokens: {
            accessToken: string;
            /** Format: date-time */
            expiresAt: string;
            /** @constant */
            tokenType: "Bearer";
            refreshToken?: string;
        };
        SigningKeys: {
            keys: ({
                kid: string;
                kty: string;
            } & {
                [key: string]: unknown;
            })[];
        };
        Step: {
            _id: number;
            name: string;
            description: string;
            instructions: string;
            submitWhen: string;
            job?: number | null;
            next?: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        StepBody: {
            name: string;
            description: string;
            instructions: string;
            submitWhen: string;
            job?: number | null;
            next?: number | null;
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        StepPage: {
            data: components["schemas"]["StepRead"][];
            next: string | null;
        };
        StepPatch: {
            name?: string | null;
            description?: string | null;
            instructions?: string | null;
            submitWhen?: string | null;
            job?: (number | null) | null;
            next?: (number | null) | null;
        };
        StepRead: {
            _id: number;
            name: string;
            description: string;
            instructions: string;
            submitWhen: string;
            job?: (number | components["schemas"]["Job"]) | null;
            next?: (number | components["schemas"]["Step"]) | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Subscription: {
            _id: number;
            name: string;
            /** Format: uri */
            url: string;
            events: ("message.received" | "message.sent" | "message.delivered" | "message.read" | "message.failed" | "message.dead" | "thread.handed_off" | "thread.opened" | "task.started" | "task.step_completed" | "task.completed" | "task.failed" | "configuration.channels.created" | "configuration.channels.updated" | "configuration.channels.deleted" | "configuration.tasks.created" | "configuration.tasks.updated" | "configuration.tasks.deleted" | "configuration.steps.created" | "configuration.steps.updated" | "configuration.steps.deleted" | "configuration.assistant.created" | "configuration.assistant.updated" | "configuration.assistant.deleted" | "configuration.configs.created" | "configuration.configs.updated" | "configuration.configs.deleted" | "configuration.actions.created" | "configuration.actions.updated" | "configuration.actions.deleted" | "configuration.jobs.created" | "configuration.jobs.updated" | "configuration.jobs.deleted" | "configuration.workflows.created" | "configuration.workflows.updated" | "configuration.workflows.deleted" | "configuration.subscriptions.created" | "configuration.subscriptions.updated" | "configuration.subscriptions.deleted")[];
            channel?: number | null;
            active?: boolean | null;
            signingSecret?: string | null;
            account: number;
            /** Format: date-time */
            activeSince?: string;
            token?: number;
            failing?: {
                /** Format: date-time */
                since: string;
                reason: string;
            };
            full?: {
                /** Format: date-time */
                since: string;
                reason: string;
            };
            disabled?: {
                /** Format: date-time */
                at: string;
                reason: string;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        SubscriptionBody: {
            name: string;
            /** Format: uri */
            url: string;
            events: ("message.received" | "message.sent" | "message.delivered" | "message.read" | "message.failed" | "message.dead" | "thread.handed_off" | "thread.opened" | "task.started" | "task.step_completed" | "task.completed" | "task.failed" | "configuration.channels.created" | "configuration.channels.updated" | "configuration.channels.deleted" | "configuration.tasks.created" | "configuration.tasks.updated" | "configuration.tasks.deleted" | "configuration.steps.created" | "configuration.steps.updated" | "configuration.steps.deleted" | "configuration.assistant.created" | "configuration.assistant.updated" | "configuration.assistant.deleted" | "configuration.configs.created" | "configuration.configs.updated" | "configuration.configs.deleted" | "configuration.actions.created" | "configuration.actions.updated" | "configuration.actions.deleted" | "configuration.jobs.created" | "configuration.jobs.updated" | "configuration.jobs.deleted" | "configuration.workflows.created" | "configuration.workflows.updated" | "configuration.workflows.deleted" | "configuration.subscriptions.created" | "configuration.subscriptions.updated" | "configuration.subscriptions.deleted")[];
            channel?: number | null;
            active?: boolean | null;
            signingSecret?: string | null;
            _id?: unknown;
            account?: unknown;
            activeSince?: unknown;
            token?: unknown;
            failing?: unknown;
            full?: unknown;
            disabled?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        SubscriptionEventData: {
            subscription: {
                _id: number;
                name: string;
            } & {
                [key: string]: unknown;
            };
        };
        SubscriptionPage: {
            data: components["schemas"]["SubscriptionRead"][];
            next: string | null;
        };
        SubscriptionPatch: {
            name?: string | null;
            url?: string | null;
            events?: ("message.received" | "message.sent" | "message.delivered" | "message.read" | "message.failed" | "message.dead" | "thread.handed_off" | "thread.opened" | "task.started" | "task.step_completed" | "task.completed" | "task.failed" | "configuration.channels.created" | "configuration.channels.updated" | "configuration.channels.deleted" | "configuration.tasks.created" | "configuration.tasks.updated" | "configuration.tasks.deleted" | "configuration.steps.created" | "configuration.steps.updated" | "configuration.steps.deleted" | "configuration.assistant.created" | "configuration.assistant.updated" | "configuration.assistant.deleted" | "configuration.configs.created" | "configuration.configs.updated" | "configuration.configs.deleted" | "configuration.actions.created" | "configuration.actions.updated" | "configuration.actions.deleted" | "configuration.jobs.created" | "configuration.jobs.updated" | "configuration.jobs.deleted" | "configuration.workflows.created" | "configuration.workflows.updated" | "configuration.workflows.deleted" | "configuration.subscriptions.created" | "configuration.subscriptions.updated" | "configuration.subscriptions.deleted")[] | null;
            channel?: (number | null) | null;
            active?: (boolean | null) | null;
            signingSecret?: (string | null) | null;
        };
        SubscriptionRead: {
            _id: number;
            name: string;
            /** Format: uri */
            url: string;
            events: ("message.received" | "message.sent" | "message.delivered" | "message.read" | "message.failed" | "message.dead" | "thread.handed_off" | "thread.opened" | "task.started" | "task.step_completed" | "task.completed" | "task.failed" | "configuration.channels.created" | "configuration.channels.updated" | "configuration.channels.deleted" | "configuration.tasks.created" | "configuration.tasks.updated" | "configuration.tasks.deleted" | "configuration.steps.created" | "configuration.steps.updated" | "configuration.steps.deleted" | "configuration.assistant.created" | "configuration.assistant.updated" | "configuration.assistant.deleted" | "configuration.configs.created" | "configuration.configs.updated" | "configuration.configs.deleted" | "configuration.actions.created" | "configuration.actions.updated" | "configuration.actions.deleted" | "configuration.jobs.created" | "configuration.jobs.updated" | "configuration.jobs.deleted" | "configuration.workflows.created" | "configuration.workflows.updated" | "configuration.workflows.deleted" | "configuration.subscriptions.created" | "configuration.subscriptions.updated" | "configuration.subscriptions.deleted")[];
            channel?: (number | components["schemas"]["Channel"]) | null;
            active?: boolean | null;
            signingSecret?: string | null;
            account: number;
            /** Format: date-time */
            activeSince?: string;
            token?: number;
            failing?: {
                /** Format: date-time */
                since: string;
                reason: string;
            };
            full?: {
                /** Format: date-time */
                since: string;
                reason: string;
            };
            disabled?: {
                /** Format: date-time */
                at: string;
                reason: string;
            };
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Task: {
            _id: number;
            workflow: number;
            currentStep: number;
            /** @enum {string} */
            status: "active" | "pending" | "failed" | "completed" | "cancelled";
            name: string;
            description: string;
            extId?: string | null;
            context?: {
                [key: string]: unknown;
            } | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        TaskBody: {
            workflow: number;
            currentStep: number;
            /** @enum {string} */
            status: "active" | "pending" | "failed" | "completed" | "cancelled";
            name: string;
            description: string;
            extId?: string | null;
            context?: {
                [key: string]: unknown;
            } | null;
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        TaskEventData: {
            _id: number;
            step?: number | null;
            task: {
                [key: string]: unknown;
            } | null;
        };
        TaskPage: {
            data: components["schemas"]["TaskRead"][];
            next: string | null;
        };
        TaskPatch: {
            workflow?: number | null;
            currentStep?: number | null;
            status?: ("active" | "pending" | "failed" | "completed" | "cancelled") | null;
            name?: string | null;
            description?: string | null;
            extId?: (string | null) | null;
            context?: ({
                [key: string]: unknown;
            } | null) | null;
        };
        TaskRead: {
            _id: number;
            workflow: number | components["schemas"]["Workflow"];
            currentStep: number | components["schemas"]["Step"];
            /** @enum {string} */
            status: "active" | "pending" | "failed" | "completed" | "cancelled";
            name: string;
            description: string;
            extId?: string | null;
            context?: {
                [key: string]: unknown;
            } | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        TestDelivery: {
            _id: string;
            /** @constant */
            event: "subscription.test";
            /** @constant */
            state: "pending";
        };
        Thread: {
            _id: string;
            extId: string;
            channel: string;
            user: {
                name?: string;
                phone?: string;
                email?: string;
            } & {
                [key: string]: unknown;
            };
            /** @enum {string} */
            handler: "assistant" | "person";
            lastMessage: string;
            /** Format: date-time */
            lastAt: string;
            unread: number;
            serviceWindowEndsAt: string | null;
            task: {
                _id: number;
                name: string;
                status: string;
                workflow: number;
                currentStep: number;
            } | null;
        };
        ThreadChange: {
            /** @enum {string} */
            handler?: "assistant" | "person";
            /** @constant */
            unread?: 0;
        };
        ThreadPage: {
            data: components["schemas"]["ThreadSummary"][];
            next: string | null;
        };
        ThreadSummary: {
            _id: string;
            extId: string;
            channel: string;
            user: {
                name?: string;
                phone?: string;
                email?: string;
            } & {
                [key: string]: unknown;
            };
            /** @enum {string} */
            handler: "assistant" | "person";
            lastMessage: string;
            /** Format: date-time */
            lastAt: string;
            unread: number;
            serviceWindowEndsAt: string | null;
        };
        ToolResult: {
            /** @enum {string} */
            state: "done" | "failed";
            status?: number;
            text: string;
            /** @constant */
            cut?: true;
        };
        Traffic: {
            /** Format: date-time */
            from: string;
            /** @enum {string} */
            by: "minute" | "hour";
            accepted: number;
            sent: number;
            delivered: number;
            read: number;
            done: number;
            failed: number;
            dead: number;
            unrouted: number;
            latency: {
                p50: number;
                p99: number;
            } | null;
            periods: components["schemas"]["TrafficPeriod"][];
            numbers: {
                number: string;
                channels: string[];
                sends: number;
                busiest: number;
                limit: number;
            }[];
            difference: number;
        };
        TrafficPeriod: {
            /** Format: date-time */
            at: string;
            accepted: number;
            sent: number;
            delivered: number;
            read: number;
            done: number;
            failed: number;
            dead: number;
            unrouted: number;
            latency: {
                p50: number;
                p99: number;
            } | null;
        };
        Trial: {
            /** @enum {string} */
            state: "done" | "dead";
            reason?: string;
            turns: components["schemas"]["Turn"][];
        };
        TrialBody: {
            messages: {
                /** @enum {string} */
                role: "person" | "user" | "assistant";
                text: string;
            }[];
            /** @enum {string} */
            tools: "call" | "describe";
            /**
             * @default taskManager
             * @enum {string}
             */
            type: "chat" | "functionCall" | "taskManager";
        };
        Turn: {
            /** Format: date-time */
            at: string;
            provider: string;
            model: string;
            inputTokens: number;
            outputTokens: number;
            ms: number;
            finishReason: string;
            text: string;
            calls: {
                id: string;
                tool: string;
                args: unknown;
                result?: components["schemas"]["ToolResult"];
            }[];
        };
        Usage: {
            /** Format: date */
            day?: string;
            channel?: string | null;
            assistant?: number;
            model?: string;
            provider?: string;
            messages: number;
            turns: number;
            inputTokens: number;
            outputTokens: number;
            modelMs: number;
            errors: number;
        };
        UsageReport: {
            data: components["schemas"]["Usage"][];
        };
        User: {
            _id: number;
            provider: string;
            username: string;
            name: string;
            phone: string;
            profile: number;
            workspace: number;
            role: number;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            context: {
                [key: string]: unknown;
            };
        };
        UserBody: {
            name: string;
            /** Format: idn-email */
            email: string;
            phone?: string | null;
            /** Format: password */
            password: string;
            role: number | string;
        };
        UserPage: {
            data: components["schemas"]["User"][];
            next: string | null;
        };
        UserPatch: {
            name?: string;
            phone?: string;
            role?: number | string;
            context?: {
                [key: string]: unknown;
            };
        };
        Waiting: {
            for: string;
            /** Format: date-time */
            since: string;
            /** Format: date-time */
            until?: string;
            code?: string;
            error?: string;
            message?: string;
        };
        WaitingGroup: {
            for: string;
            messages: number;
            oldest: {
                _id: string;
                thread: string;
                channel: string;
                /** Format: date-time */
                receivedAt: string;
            };
        };
        WebhookMessage: {
            extId: string;
            user: {
                name?: string | null;
                phone?: string | null;
                email?: string | null;
                ctx?: {
                    [key: string]: unknown;
                } | null;
            } & {
                [key: string]: unknown;
            };
            thread: {
                extId?: string | null;
                ctx?: {
                    [key: string]: unknown;
                } | null;
            } & {
                [key: string]: unknown;
            };
            answer: {
                message?: string | null;
                functions?: ({
                    name?: string | null;
                    args?: {
                        [key: string]: unknown;
                    } | null;
                } & {
                    [key: string]: unknown;
                })[] | null;
                submit?: {
                    [key: string]: unknown;
                } | null;
            } & {
                [key: string]: unknown;
            };
            input?: string | null;
            audio?: string | null;
        } & {
            [key: string]: unknown;
        };
        Workflow: {
            _id: number;
            name: string;
            description: string;
            instructions?: string | null;
            steps?: number[] | null;
            firstStep?: number | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        WorkflowBody: {
            name: string;
            description: string;
            instructions?: string | null;
            steps?: number[] | null;
            firstStep?: number | null;
            _id?: unknown;
            createdAt?: unknown;
            updatedAt?: unknown;
        };
        WorkflowPage: {
            data: components["schemas"]["WorkflowRead"][];
            next: string | null;
        };
        WorkflowPatch: {
            name?: string | null;
            description?: string | null;
            instructions?: string | null;
            steps?: (number[] | null) | null;
            firstStep?: (number | null) | null;
        };
        WorkflowRead: {
            _id: number;
            name: string;
            description: string;
            instructions?: string | null;
            steps?: (number | components["schemas"]["Step"])[] | null;
            firstStep?: (number | components["schemas"]["Step"]) | null;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
        };
        Workspace: {
            _id: number;
            name: string;
            namespace: string;
            host: string;
            status: string;
            /** Format: date-time */
            createdAt: string;
            /** Format: date-time */
            updatedAt: string;
            context: {
                [key: string]: unknown;
            };
        };
        WorkspacePage: {
            data: components["schemas"]["Workspace"][];
            next: string | null;
        };
        WorkspacePatch: {
            name?: string;
            context?: {
                [key: string]: unknown;
            };
        };
        Problem: {
            type: string;
            title: string;
            status: number;
            detail?: string;
            instance: string;
            /** @enum {string} */
            code: "malformed_json" | "malformed_body" | "malformed_request" | "invalid_path" | "invalid_id" | "unauthenticated" | "invalid_credentials" | "invalid_refresh_token" | "invalid_invitation" | "password_required" | "forbidden" | "not_found" | "method_not_allowed" | "body_timeout" | "request_timeout" | "email_taken" | "name_taken" | "last_admin" | "still_referenced" | "several_channels" | "idempotency_in_flight" | "precondition_failed" | "not_replayable" | "subscription_inactive" | "body_too_large" | "unsupported_media_type" | "validation_failed" | "too_deep" | "too_many_members" | "idempotency_key_reused" | "rate_limited" | "too_many_streams" | "headers_too_large" | "internal_error" | "bad_gateway" | "unavailable" | "upstream_timeout";
            requestId: string;
            errors?: ({
                path: string;
                code: string;
                message: string;
            } & {
                [key: string]: unknown;
            })[];
            errorsTotal?: number;
        } & {
            [key: string]: unknown;
        };
        BadGatewayProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 502;
            /** @enum {string} */
            code?: "bad_gateway";
        };
        BodyTimeoutRequestTimeoutProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 408;
            /** @enum {string} */
            code?: "body_timeout" | "request_timeout";
        };
        BodyTooLargeProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 413;
            /** @enum {string} */
            code?: "body_too_large";
        };
        EmailTakenProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "email_taken";
        };
        ForbiddenPasswordRequiredProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 403;
            /** @enum {string} */
            code?: "forbidden" | "password_required";
        };
        ForbiddenProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 403;
            /** @enum {string} */
            code?: "forbidden";
        };
        HeadersTooLargeProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 431;
            /** @enum {string} */
            code?: "headers_too_large";
        };
        IdempotencyInFlightProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "idempotency_in_flight";
        };
        IdempotencyInFlightSeveralChannelsProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "idempotency_in_flight" | "several_channels";
        };
        IdempotencyKeyReusedTooDeepTooManyMembersValidationFailedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 422;
            /** @enum {string} */
            code?: "idempotency_key_reused" | "too_deep" | "too_many_members" | "validation_failed";
        };
        InternalErrorProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 500;
            /** @enum {string} */
            code?: "internal_error";
        };
        InvalidCredentialsProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 401;
            /** @enum {string} */
            code?: "invalid_credentials";
        };
        InvalidCredentialsUnauthenticatedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 401;
            /** @enum {string} */
            code?: "invalid_credentials" | "unauthenticated";
        };
        InvalidIdInvalidPathMalformedBodyMalformedJsonMalformedRequestProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 400;
            /** @enum {string} */
            code?: "invalid_id" | "invalid_path" | "malformed_body" | "malformed_json" | "malformed_request";
        };
        InvalidIdInvalidPathMalformedRequestProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 400;
            /** @enum {string} */
            code?: "invalid_id" | "invalid_path" | "malformed_request";
        };
        InvalidInvitationProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 401;
            /** @enum {string} */
            code?: "invalid_invitation";
        };
        InvalidPathMalformedBodyMalformedJsonMalformedRequestProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 400;
            /** @enum {string} */
            code?: "invalid_path" | "malformed_body" | "malformed_json" | "malformed_request";
        };
        InvalidPathMalformedRequestProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 400;
            /** @enum {string} */
            code?: "invalid_path" | "malformed_request";
        };
        InvalidRefreshTokenProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 401;
            /** @enum {string} */
            code?: "invalid_refresh_token";
        };
        LastAdminNameTakenProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "last_admin" | "name_taken";
        };
        LastAdminProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "last_admin";
        };
        NameTakenProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "name_taken";
        };
        NotFoundProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 404;
            /** @enum {string} */
            code?: "not_found";
        };
        NotReplayableProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "not_replayable";
        };
        PreconditionFailedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 412;
            /** @enum {string} */
            code?: "precondition_failed";
        };
        RateLimitedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 429;
            /** @enum {string} */
            code?: "rate_limited";
        };
        RateLimitedTooManyStreamsProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 429;
            /** @enum {string} */
            code?: "rate_limited" | "too_many_streams";
        };
        RequestTimeoutProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 408;
            /** @enum {string} */
            code?: "request_timeout";
        };
        SeveralChannelsProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "several_channels";
        };
        StillReferencedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "still_referenced";
        };
        SubscriptionInactiveProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 409;
            /** @enum {string} */
            code?: "subscription_inactive";
        };
        TooDeepTooManyMembersValidationFailedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 422;
            /** @enum {string} */
            code?: "too_deep" | "too_many_members" | "validation_failed";
        };
        UnauthenticatedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 401;
            /** @enum {string} */
            code?: "unauthenticated";
        };
        UnavailableProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 503;
            /** @enum {string} */
            code?: "unavailable";
        };
        UnsupportedMediaTypeProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 415;
            /** @enum {string} */
            code?: "unsupported_media_type";
        };
        UpstreamTimeoutProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 504;
            /** @enum {string} */
            code?: "upstream_timeout";
        };
        ValidationFailedProblem: components["schemas"]["Problem"] & {
            /** @enum {integer} */
            status?: 422;
            /** @enum {string} */
            code?: "validation_failed";
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    register: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Registration"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RegisteredUser"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    login: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Credentials"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokens"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    refresh: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    refreshToken?: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SessionTokens"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    acceptInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    token: string;
                    name: string;
                    phone?: string | null;
                    /** Format: password */
                    password: string;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AcceptedInvitation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    me: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    [key: string]: unknown;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["CurrentUser"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changePassword: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    currentPassword: string;
                    /** Format: password */
                    newPassword: string;
                    keepApiTokens?: boolean | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        changed: true;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    logout: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    refreshToken?: string | null;
                    everywhere?: boolean | null;
                };
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        loggedOut: true;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readSigningKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SigningKeys"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listApiTokens: {
        parameters: {
            query?: {
                limit?: number;
                after?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ApiTokenPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createApiToken: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ApiTokenBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewApiToken"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteApiToken: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listUsers: {
        parameters: {
            query?: {
                limit?: number;
                after?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UserPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createUser: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeUser: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["UserPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["User"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listInvitations: {
        parameters: {
            query?: {
                limit?: number;
                after?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["InvitationPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    invite: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["InvitationBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewInvitation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    withdrawInvitation: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listRoles: {
        parameters: {
            query?: {
                limit?: number;
                after?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RolePage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createRole: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoleBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RoleBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["RolePatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Role"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    explainRole: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ExplanationBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Explanation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWorkspaces: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkspacePage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readWorkspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeWorkspace: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkspacePatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workspace"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAuditEntries: {
        parameters: {
            query?: {
                limit?: number;
                after?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditEntryPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listChannels: {
        parameters: {
            query?: {
                _id?: number;
                extId?: string;
                name?: string;
                "config.assistantId"?: number;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "extId" | "-extId" | "name" | "-name" | "config.assistantId" | "-config.assistantId" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChannelPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createChannel: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChannelBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readChannel: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putChannel: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChannelBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteChannel: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchChannel: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChannelPatch"];
                "application/merge-patch+json": components["schemas"]["ChannelPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Channel"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readChannelHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listTasks: {
        parameters: {
            query?: {
                _id?: number;
                extId?: string;
                name?: string;
                workflow?: number;
                currentStep?: number;
                status?: string;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "extId" | "-extId" | "name" | "-name" | "workflow" | "-workflow" | "currentStep" | "-currentStep" | "status" | "-status" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createTask: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readTask: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TaskRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putTask: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteTask: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchTask: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TaskPatch"];
                "application/merge-patch+json": components["schemas"]["TaskPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Task"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readTaskHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSteps: {
        parameters: {
            query?: {
                _id?: number;
                name?: string;
                job?: number;
                next?: number;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "name" | "-name" | "job" | "-job" | "next" | "-next" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createStep: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StepBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Step"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readStep: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StepRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putStep: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StepBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Step"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteStep: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchStep: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StepPatch"];
                "application/merge-patch+json": components["schemas"]["StepPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Step"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readStepHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listAssistant: {
        parameters: {
            query?: {
                _id?: number;
                name?: string;
                job?: number;
                actions?: number;
                configs?: number;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "name" | "-name" | "job" | "-job" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAssistant: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assistant"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readAssistant: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AssistantRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putAssistant: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assistant"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteAssistant: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchAssistant: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AssistantPatch"];
                "application/merge-patch+json": components["schemas"]["AssistantPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Assistant"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readAssistantHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listConfigs: {
        parameters: {
            query?: {
                _id?: number;
                name?: string;
                owner?: number;
                ownerType?: string;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "name" | "-name" | "owner" | "-owner" | "ownerType" | "-ownerType" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createConfig: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfigBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Config"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readConfig: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ConfigRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putConfig: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfigBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Config"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteConfig: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchConfig: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ConfigPatch"];
                "application/merge-patch+json": components["schemas"]["ConfigPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Config"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readConfigHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listActions: {
        parameters: {
            query?: {
                _id?: number;
                name?: string;
                specType?: string;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "name" | "-name" | "specType" | "-specType" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ActionPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createAction: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActionBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readAction: {
        parameters: {
            query?: never;
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putAction: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActionBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteAction: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchAction: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ActionPatch"];
                "application/merge-patch+json": components["schemas"]["ActionPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Action"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readActionHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listJobs: {
        parameters: {
            query?: {
                _id?: number;
                role?: string;
                defaultWorkflow?: number;
                actions?: number;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "role" | "-role" | "defaultWorkflow" | "-defaultWorkflow" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createJob: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readJob: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JobRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putJob: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteJob: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchJob: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JobPatch"];
                "application/merge-patch+json": components["schemas"]["JobPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Job"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readJobHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listWorkflows: {
        parameters: {
            query?: {
                _id?: number;
                name?: string;
                firstStep?: number;
                steps?: number;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "name" | "-name" | "firstStep" | "-firstStep" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createWorkflow: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkflowBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readWorkflow: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WorkflowRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putWorkflow: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkflowBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteWorkflow: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchWorkflow: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WorkflowPatch"];
                "application/merge-patch+json": components["schemas"]["WorkflowPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Workflow"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readWorkflowHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listSubscriptions: {
        parameters: {
            query?: {
                _id?: number;
                name?: string;
                channel?: number;
                updatedAt?: string;
                sort?: "_id" | "-_id" | "name" | "-name" | "channel" | "-channel" | "updatedAt" | "-updatedAt";
                limit?: number;
                after?: string;
                _populate?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    createSubscription: {
        parameters: {
            query?: never;
            header?: {
                Prefer?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readSubscription: {
        parameters: {
            query?: {
                _populate?: string;
            };
            header?: {
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SubscriptionRead"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    putSubscription: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    deleteSubscription: {
        parameters: {
            query?: {
                force?: "true" | "false";
            };
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    patchSubscription: {
        parameters: {
            query?: never;
            header?: {
                "If-Match"?: string;
                "If-None-Match"?: string;
                Prefer?: string;
            };
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SubscriptionPatch"];
                "application/merge-patch+json": components["schemas"]["SubscriptionPatch"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readSubscriptionHistory: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["History"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    checkConfiguration: {
        parameters: {
            query?: {
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["FindingPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    exportConfiguration: {
        parameters: {
            query?: {
                secrets?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Configuration"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    importConfiguration: {
        parameters: {
            query?: {
                dryRun?: "true" | "false";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Configuration"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ImportPlan"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    postMessage: {
        parameters: {
            query?: never;
            header?: {
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["WebhookMessage"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WebhookMessage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    verifyWebhook: {
        parameters: {
            query: {
                "hub.mode": string;
                "hub.verify_token": string;
                "hub.challenge": string;
            };
            header?: never;
            path: {
                slug: string;
                channelExtId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    receiveFromMeta: {
        parameters: {
            query?: never;
            header: {
                "X-Hub-Signature-256": string;
            };
            path: {
                slug: string;
                channelExtId: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MetaPayload"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MetaReceipt"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listHooks: {
        parameters: {
            query?: {
                limit?: number;
                after?: number | string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HookPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readAsyncApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AsyncApi"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listMessages: {
        parameters: {
            query?: {
                channel?: string;
                thread?: string;
                phone?: string;
                user?: string;
                providerId?: string;
                requestId?: string;
                fault?: "caller" | "channel" | "provider" | "us";
                state?: components["schemas"]["MessageState"] | components["schemas"]["MessageState"][];
                status?: components["schemas"]["MessageState"] | components["schemas"]["MessageState"][];
                from?: string;
                to?: string;
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagePage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readAudio: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "audio/ogg": string;
                    "audio/mpeg": string;
                    "audio/wav": string;
                    "audio/mp4": string;
                    "audio/amr": string;
                    "audio/*": string;
                    "application/octet-stream": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readMedia: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "audio/ogg": string;
                    "audio/mpeg": string;
                    "audio/wav": string;
                    "audio/mp4": string;
                    "audio/amr": string;
                    "audio/*": string;
                    "application/octet-stream": string;
                    "image/*": string;
                    "video/*": string;
                    "text/plain": string;
                    "text/csv": string;
                    "application/*": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replayMessages: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["ReplayBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Replayed"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replayMessage: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        _id: string;
                        /** @constant */
                        replayed: true;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readTraffic: {
        parameters: {
            query?: {
                last?: "hour" | "day" | "week";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Traffic"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readWaiting: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MessagesWaiting"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readConservation: {
        parameters: {
            query?: {
                channel?: string;
                from?: string;
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conservation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    showPrompt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": components["schemas"]["PromptBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Prompt"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    tryAssistant: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["TrialBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Trial"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readUsage: {
        parameters: {
            query?: {
                by?: "day" | "channel" | "assistant" | "model";
                from?: string;
                to?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["UsageReport"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listDeliveries: {
        parameters: {
            query?: {
                state?: "pending" | "delivered" | "failed";
                event?: string;
                limit?: number;
                after?: string;
            };
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DeliveryDetail"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replayDelivery: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
                delivery: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayedDelivery"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replayDeliveries: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeliveryReplayBody"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReplayedDeliveries"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    testSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                id: number;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestDelivery"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followEvents: {
        parameters: {
            query?: never;
            header?: {
                "Last-Event-ID"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    followThread: {
        parameters: {
            query?: {
                channel?: string;
            };
            header?: {
                "Last-Event-ID"?: string;
            };
            path: {
                extId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listThreads: {
        parameters: {
            query?: {
                channel?: string;
                handler?: "assistant" | "person";
                unread?: "true" | "false";
                q?: string;
                limit?: number;
                after?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ThreadPage"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readThread: {
        parameters: {
            query?: {
                channel?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    eraseThread: {
        parameters: {
            query?: {
                channel?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        _id: string;
                        /** @constant */
                        deleted: true;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    changeThread: {
        parameters: {
            query?: {
                channel?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ThreadChange"];
                "application/merge-patch+json": components["schemas"]["ThreadChange"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Thread"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readConversation: {
        parameters: {
            query?: {
                channel?: string;
                limit?: number;
                before?: string;
                after?: string;
            };
            header?: never;
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Conversation"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    replyInThread: {
        parameters: {
            query?: {
                channel?: string;
            };
            header?: {
                "Idempotency-Key"?: string;
            };
            path: {
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["Reply"];
            };
        };
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        _id: string;
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    isLive: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @constant */
                        status: "live";
                    };
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    isReady: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readOpenApi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenApi"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readOpenApi30: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OpenApi"];
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    readDocs: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/html": string;
                };
            };
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
