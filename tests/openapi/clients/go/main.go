// Logs in, creates a step and lists it, by the client that oapi-codegen generated beside it.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
)

func main() {
	ctx := context.Background()
	url, username := os.Getenv("PARLEY_URL"), os.Getenv("PARLEY_USER")
	client, err := NewClientWithResponses(url)
	check(err)
	credentials := Credentials{Username: &username, Password: os.Getenv("PARLEY_PASSWORD")}
	session, err := client.LoginWithResponse(ctx, credentials)
	check(err)

	authorize := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+session.JSON200.AccessToken)
		return nil
	}
	name := "By Go"
	step := StepBody{Name: name, Description: "Ask for the address", Instructions: "Be polite", SubmitWhen: "It is known"}
	created, err := client.CreateStepWithResponse(ctx, nil, step, authorize)
	check(err)
	page, err := client.ListStepsWithResponse(ctx, &ListStepsParams{Name: &name}, authorize)
	check(err)

	listed := []int{}
	for _, each := range page.JSON200.Data {
		listed = append(listed, each.UnderscoreId)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]any{"created": created.JSON200.UnderscoreId, "listed": listed}))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
