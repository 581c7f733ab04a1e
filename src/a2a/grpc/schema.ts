/** Protocol buffers schema of A2A 1.0 and 0.3, as far as gRPC needs it. Fields have their JSON names. */

/** `Type name = number` for each field, `Type[]` for a list and `map<Type>` for a map from strings. */
export type MessageTexts = Readonly<Record<string, string>>

export interface ServiceText {
  readonly package: string
  readonly messages: MessageTexts
  readonly enums: Readonly<Record<string, readonly string[]>>
  /** Request and response of each method; prefix `stream` for a streaming response. */
  readonly methods: Readonly<Record<string, readonly [request: string, response: string]>>
}

/** The Google types that are used. */
export const common: Readonly<Record<string, MessageTexts>> = {
  'google.protobuf': {
    Empty: '',
    Struct: 'map<Value> fields = 1',
    ListValue: 'Value[] values = 1',
    Value: `int32 nullValue = 1; double numberValue = 2; string stringValue = 3; bool boolValue = 4; Struct structValue = 5;
      ListValue listValue = 6`,
    Timestamp: 'int64 seconds = 1; int32 nanos = 2',
  },
  'google.rpc': {
    Status: 'int32 code = 1; string message = 2; Packed[] details = 3',
    Packed: 'string typeUrl = 1; bytes value = 2',
    ErrorInfo: 'string reason = 1; string domain = 2; map<string> metadata = 3',
    BadRequest: 'FieldViolation[] fieldViolations = 1',
    FieldViolation: 'string field = 1; string description = 2',
  },
}

const STRUCT = 'google.protobuf.Struct'
const TIMESTAMP = 'google.protobuf.Timestamp'

/** The parts of the card that both versions share. */
const cardParts: MessageTexts = {
  AgentProvider: 'string url = 1; string organization = 2',
  AgentExtension: `string uri = 1; string description = 2; bool required = 3; ${STRUCT} params = 4`,
  AgentCardSignature: `string protected = 1; string signature = 2; ${STRUCT} header = 3`,
  StringList: 'string[] list = 1',
  SecurityScheme: `APIKeySecurityScheme apiKeySecurityScheme = 1; HTTPAuthSecurityScheme httpAuthSecurityScheme = 2;
    OAuth2SecurityScheme oauth2SecurityScheme = 3; OpenIdConnectSecurityScheme openIdConnectSecurityScheme = 4;
    MutualTlsSecurityScheme mtlsSecurityScheme = 5`,
  APIKeySecurityScheme: 'string description = 1; string location = 2; string name = 3',
  HTTPAuthSecurityScheme: 'string description = 1; string scheme = 2; string bearerFormat = 3',
  OAuth2SecurityScheme: 'string description = 1; OAuthFlows flows = 2; string oauth2MetadataUrl = 3',
  OpenIdConnectSecurityScheme: 'string description = 1; string openIdConnectUrl = 2',
  MutualTlsSecurityScheme: 'string description = 1',
  OAuthFlows: `AuthorizationCodeOAuthFlow authorizationCode = 1; ClientCredentialsOAuthFlow clientCredentials = 2;
    ImplicitOAuthFlow implicit = 3; PasswordOAuthFlow password = 4; DeviceCodeOAuthFlow deviceCode = 5`,
  AuthorizationCodeOAuthFlow: `string authorizationUrl = 1; string tokenUrl = 2; string refreshUrl = 3;
    map<string> scopes = 4; bool pkceRequired = 5`,
  ClientCredentialsOAuthFlow: 'string tokenUrl = 1; string refreshUrl = 2; map<string> scopes = 3',
  ImplicitOAuthFlow: 'string authorizationUrl = 1; string refreshUrl = 2; map<string> scopes = 3',
  PasswordOAuthFlow: 'string tokenUrl = 1; string refreshUrl = 2; map<string> scopes = 3',
  DeviceCodeOAuthFlow: `string deviceAuthorizationUrl = 1; string tokenUrl = 2; string refreshUrl = 3;
    map<string> scopes = 4`,
}

const roles = ['ROLE_UNSPECIFIED', 'ROLE_USER', 'ROLE_AGENT']

const states = (cancelled: string): readonly string[] => [
  'TASK_STATE_UNSPECIFIED',
  'TASK_STATE_SUBMITTED',
  'TASK_STATE_WORKING',
  'TASK_STATE_COMPLETED',
  'TASK_STATE_FAILED',
  cancelled,
  'TASK_STATE_INPUT_REQUIRED',
  'TASK_STATE_REJECTED',
  'TASK_STATE_AUTH_REQUIRED',
]

const shared: MessageTexts = {
  Task: `string id = 1; string contextId = 2; TaskStatus status = 3; Artifact[] artifacts = 4; Message[] history = 5;
    ${STRUCT} metadata = 6`,
  TaskStatus: `TaskState state = 1; Message message = 2; ${TIMESTAMP} timestamp = 3`,
  TaskArtifactUpdateEvent: `string taskId = 1; string contextId = 2; Artifact artifact = 3; bool append = 4;
    bool lastChunk = 5; ${STRUCT} metadata = 6`,
  StreamResponse: `Task task = 1; Message message = 2; TaskStatusUpdateEvent statusUpdate = 3;
    TaskArtifactUpdateEvent artifactUpdate = 4`,
  SendMessageResponse: 'Task task = 1; Message message = 2',
}

export const current: ServiceText = {
  package: 'lf.a2a.v1',
  enums: { TaskState: states('TASK_STATE_CANCELED'), Role: roles },
  messages: {
    ...shared,
    ...cardParts,
    SendMessageRequest: `string tenant = 1; Message message = 2; SendMessageConfiguration configuration = 3;
      ${STRUCT} metadata = 4`,
    SendMessageConfiguration: `string[] acceptedOutputModes = 1;
      TaskPushNotificationConfig taskPushNotificationConfig = 2; int32 historyLength = 3; bool returnImmediately = 4`,
    Part: `string text = 1; bytes raw = 2; string url = 3; google.protobuf.Value data = 4; ${STRUCT} metadata = 5;
      string filename = 6; string mediaType = 7`,
    Message: `string messageId = 1; string contextId = 2; string taskId = 3; Role role = 4; Part[] parts = 5;
      ${STRUCT} metadata = 6; string[] extensions = 7; string[] referenceTaskIds = 8`,
    Artifact: `string artifactId = 1; string name = 2; string description = 3; Part[] parts = 4; ${STRUCT} metadata = 5;
      string[] extensions = 6`,
    TaskStatusUpdateEvent: `string taskId = 1; string contextId = 2; TaskStatus status = 3; ${STRUCT} metadata = 4`,
    GetTaskRequest: 'string tenant = 1; string id = 2; int32 historyLength = 3',
    ListTasksRequest: `string tenant = 1; string contextId = 2; TaskState status = 3; int32 pageSize = 4;
      string pageToken = 5; int32 historyLength = 6; ${TIMESTAMP} statusTimestampAfter = 7; bool includeArtifacts = 8`,
    ListTasksResponse: 'Task[] tasks = 1; string nextPageToken = 2; int32 pageSize = 3; int32 totalSize = 4',
    CancelTaskRequest: `string tenant = 1; string id = 2; ${STRUCT} metadata = 3`,
    SubscribeToTaskRequest: 'string tenant = 1; string id = 2',
    AuthenticationInfo: 'string scheme = 1; string credentials = 2',
    TaskPushNotificationConfig: `string tenant = 1; string id = 2; string taskId = 3; string url = 4; string token = 5;
      AuthenticationInfo authentication = 6`,
    GetTaskPushNotificationConfigRequest: 'string tenant = 1; string taskId = 2; string id = 3',
    DeleteTaskPushNotificationConfigRequest: 'string tenant = 1; string taskId = 2; string id = 3',
    ListTaskPushNotificationConfigsRequest:
      'string tenant = 4; string taskId = 1; int32 pageSize = 2; string pageToken = 3',
    ListTaskPushNotificationConfigsResponse: 'TaskPushNotificationConfig[] configs = 1; string nextPageToken = 2',
    GetExtendedAgentCardRequest: 'string tenant = 1',
    AgentCard: `string name = 1; string description = 2; AgentInterface[] supportedInterfaces = 3;
      AgentProvider provider = 4; string version = 5; string documentationUrl = 6; AgentCapabilities capabilities = 7;
      map<SecurityScheme> securitySchemes = 8; SecurityRequirement[] securityRequirements = 9;
      string[] defaultInputModes = 10; string[] defaultOutputModes = 11; AgentSkill[] skills = 12;
      AgentCardSignature[] signatures = 13; string iconUrl = 14`,
    AgentInterface: 'string url = 1; string protocolBinding = 2; string tenant = 3; string protocolVersion = 4',
    AgentCapabilities: `bool streaming = 1; bool pushNotifications = 2; AgentExtension[] extensions = 3;
      bool extendedAgentCard = 4`,
    AgentSkill: `string id = 1; string name = 2; string description = 3; string[] tags = 4; string[] examples = 5;
      string[] inputModes = 6; string[] outputModes = 7; SecurityRequirement[] securityRequirements = 8`,
    SecurityRequirement: 'map<StringList> schemes = 1',
  },
  methods: {
    SendMessage: ['SendMessageRequest', 'SendMessageResponse'],
    SendStreamingMessage: ['SendMessageRequest', 'stream StreamResponse'],
    GetTask: ['GetTaskRequest', 'Task'],
    ListTasks: ['ListTasksRequest', 'ListTasksResponse'],
    CancelTask: ['CancelTaskRequest', 'Task'],
    SubscribeToTask: ['SubscribeToTaskRequest', 'stream StreamResponse'],
    CreateTaskPushNotificationConfig: ['TaskPushNotificationConfig', 'TaskPushNotificationConfig'],
    GetTaskPushNotificationConfig: ['GetTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'],
    ListTaskPushNotificationConfigs: [
      'ListTaskPushNotificationConfigsRequest',
      'ListTaskPushNotificationConfigsResponse',
    ],
    DeleteTaskPushNotificationConfig: ['DeleteTaskPushNotificationConfigRequest', 'google.protobuf.Empty'],
    GetExtendedAgentCard: ['GetExtendedAgentCardRequest', 'AgentCard'],
  },
}

export const legacy: ServiceText = {
  package: 'a2a.v1',
  enums: { TaskState: states('TASK_STATE_CANCELLED'), Role: roles },
  messages: {
    ...shared,
    ...cardParts,
    SendMessageRequest: `Message message = 1; SendMessageConfiguration configuration = 2; ${STRUCT} metadata = 3`,
    SendMessageConfiguration: `string[] acceptedOutputModes = 1; PushNotificationConfig pushNotification = 2;
      int32 historyLength = 3; bool blocking = 4`,
    Part: `string text = 1; FilePart file = 2; DataPart data = 3; ${STRUCT} metadata = 4`,
    FilePart: 'string fileWithUri = 1; bytes fileWithBytes = 2; string mimeType = 3; string name = 4',
    DataPart: `${STRUCT} data = 1`,
    Message: `string messageId = 1; string contextId = 2; string taskId = 3; Role role = 4; Part[] content = 5;
      ${STRUCT} metadata = 6; string[] extensions = 7`,
    Artifact: `string artifactId = 1; string name = 3; string description = 4; Part[] parts = 5; ${STRUCT} metadata = 6;
      string[] extensions = 7`,
    TaskStatusUpdateEvent: `string taskId = 1; string contextId = 2; TaskStatus status = 3; bool final = 4;
      ${STRUCT} metadata = 5`,
    GetTaskRequest: 'string name = 1; int32 historyLength = 2',
    CancelTaskRequest: 'string name = 1',
    TaskSubscriptionRequest: 'string name = 1',
    AuthenticationInfo: 'string[] schemes = 1; string credentials = 2',
    PushNotificationConfig: 'string id = 1; string url = 2; string token = 3; AuthenticationInfo authentication = 4',
    TaskPushNotificationConfig: 'string name = 1; PushNotificationConfig pushNotificationConfig = 2',
    CreateTaskPushNotificationConfigRequest: `string parent = 1; string configId = 2;
      TaskPushNotificationConfig config = 3`,
    GetTaskPushNotificationConfigRequest: 'string name = 1',
    DeleteTaskPushNotificationConfigRequest: 'string name = 1',
    ListTaskPushNotificationConfigRequest: 'string parent = 1; int32 pageSize = 2; string pageToken = 3',
    ListTaskPushNotificationConfigResponse: 'TaskPushNotificationConfig[] configs = 1; string nextPageToken = 2',
    GetAgentCardRequest: '',
    AgentCard: `string protocolVersion = 16; string name = 1; string description = 2; string url = 3;
      string preferredTransport = 14; AgentInterface[] additionalInterfaces = 15; AgentProvider provider = 4;
      string version = 5; string documentationUrl = 6; AgentCapabilities capabilities = 7;
      map<SecurityScheme> securitySchemes = 8; Security[] security = 9; string[] defaultInputModes = 10;
      string[] defaultOutputModes = 11; AgentSkill[] skills = 12; bool supportsAuthenticatedExtendedCard = 13;
      AgentCardSignature[] signatures = 17; string iconUrl = 18`,
    AgentInterface: 'string url = 1; string transport = 2',
    AgentCapabilities: 'bool streaming = 1; bool pushNotifications = 2; AgentExtension[] extensions = 3',
    AgentSkill: `string id = 1; string name = 2; string description = 3; string[] tags = 4; string[] examples = 5;
      string[] inputModes = 6; string[] outputModes = 7; Security[] security = 8`,
    Security: 'map<StringList> schemes = 1',
  },
  methods: {
    SendMessage: ['SendMessageRequest', 'SendMessageResponse'],
    SendStreamingMessage: ['SendMessageRequest', 'stream StreamResponse'],
    GetTask: ['GetTaskRequest', 'Task'],
    CancelTask: ['CancelTaskRequest', 'Task'],
    TaskSubscription: ['TaskSubscriptionRequest', 'stream StreamResponse'],
    CreateTaskPushNotificationConfig: ['CreateTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'],
    GetTaskPushNotificationConfig: ['GetTaskPushNotificationConfigRequest', 'TaskPushNotificationConfig'],
    ListTaskPushNotificationConfig: ['ListTaskPushNotificationConfigRequest', 'ListTaskPushNotificationConfigResponse'],
    DeleteTaskPushNotificationConfig: ['DeleteTaskPushNotificationConfigRequest', 'google.protobuf.Empty'],
    GetAgentCard: ['GetAgentCardRequest', 'AgentCard'],
  },
}

/** Names in 0.3 of methods that 1.0 renamed. */
export const legacyNames: Readonly<Record<string, string>> = {
  SubscribeToTask: 'TaskSubscription',
  ListTaskPushNotificationConfigs: 'ListTaskPushNotificationConfig',
  GetExtendedAgentCard: 'GetAgentCard',
}
